import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { namesOf, refuseUnknownOptions } from "../contract/option-names.ts";
import { SERVER_ADDRESS_ALLOWED, serverAddress } from "../contract/server-address.ts";

/** How a server is called; defaults stand in parentheses. */
export interface ConnectOptions {
	/** Sent as `Authorization: Bearer` (none). */
	token?: string;
	/** How long a call is tried, retries included (30000). What waits for something waits that much longer. */
	timeoutMs?: number;
	/** Connections for calls that do not wait (16); those that wait have one each. */
	connections?: number;
	/** For tests: how time passes (the machine's clock). */
	clock?: Clock;
}

/** Where the server is: its origin, and what its paths begin with. */
export interface ServerPlace {
	origin: string;
	prefix: string;
}

export function placeOf(url: string): ServerPlace {
	const parsed = typeof url === "string" ? serverAddress(url) : undefined;
	if (!parsed) throw refused("url", `${SERVER_ADDRESS_ALLOWED}, as in http://127.0.0.1:9090`);
	return { origin: parsed.origin, prefix: parsed.pathname.replace(/\/+$/, "") };
}

const OPTION_NAMES = namesOf<ConnectOptions>({ token: true, timeoutMs: true, connections: true, clock: true });

export function checkOptions(options: ConnectOptions): void {
	refuseUnknownOptions("connect()", options, OPTION_NAMES);
	const { token, timeoutMs, connections } = options;
	if (token !== undefined && (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token))) {
		throw refused("token", "must be printable ASCII without spaces");
	}
	whole("timeoutMs", timeoutMs, 1, 86_400_000);
	whole("connections", connections, 1, 10_000);
}

function whole(field: string, value: number | undefined, low: number, high: number): void {
	if (value === undefined || (Number.isInteger(value) && value >= low && value <= high)) return;
	throw refused(field, `must be an integer from ${low} to ${high}, got ${String(value)}`);
}

const refused = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
