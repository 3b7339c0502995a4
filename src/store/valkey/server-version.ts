import { StoreOpenError } from "../port.ts";
import { isHopeless } from "./fault.ts";
import type { Patience } from "./patience.ts";
import { infoOf, type ServerInfo } from "./server-info.ts";
import type { Servers } from "./servers.ts";

type Product = "valkey" | "redis";

export interface ServerVersion {
	product: Product;
	text: string;
	numbers: readonly number[];
}

/** The first with functions; Valkey began where Redis was by then. */
const REQUIRED: Record<Product, string> = { valkey: "7.2", redis: "7.0" };
const BUDGET_MS = 60_000;
const PAUSE_MIN_MS = 200;
const PAUSE_MAX_MS = 5000;

/** Valkey also tells a version of Redis, the one it behaves like: its own is the one that counts. */
export function versionIn(info: ServerInfo): ServerVersion | undefined {
	for (const product of ["valkey", "redis"] as const) {
		const text = info.get(`${product}_version`);
		if (text === undefined) continue;
		const numbers = text.split(".").map(Number);
		return numbers.some(Number.isNaN) ? undefined : { product, text, numbers };
	}
	return undefined;
}

/**
 * Waits until every primary is new enough, since an upgrade may be on its way from one to the next; gives the oldest.
 * A server that does not let us in will not do so later.
 */
export async function awaitVersion(servers: Servers, patience: Patience): Promise<ServerVersion> {
	const deadline = patience.now() + BUDGET_MS;
	for (let pause = PAUSE_MIN_MS; ; pause = Math.min(PAUSE_MAX_MS, 2 * pause)) {
		const found = await lowestVersion(servers);
		if (found && isEnough(found)) return found;
		if (patience.now() + pause > deadline) throw tooLow(servers.url.shown, found);
		await patience.pause(pause);
		if (servers.url.cluster) await servers.refresh();
	}
}

async function lowestVersion(servers: Servers): Promise<ServerVersion | undefined> {
	try {
		const versions = await Promise.all(servers.primaries.map(async (node) => versionIn(await infoOf(node))));
		return versions.reduce((lowest, one) => (!lowest || !one || isBelow(one, lowest) ? one : lowest));
	} catch (error) {
		if (isHopeless(error)) throw error;
		return undefined;
	}
}

/** Versions of two products cannot be compared; one that is too old comes first, whichever it is of. */
function isBelow(a: ServerVersion, b: ServerVersion): boolean {
	if (isEnough(a) !== isEnough(b)) return !isEnough(a);
	return compare(a.numbers, b.numbers) < 0;
}

const isEnough = ({ product, numbers }: ServerVersion): boolean =>
	compare(numbers, REQUIRED[product].split(".").map(Number)) >= 0;

function compare(a: readonly number[], b: readonly number[]): number {
	for (let n = 0; n < Math.max(a.length, b.length); n++) {
		const difference = (a[n] ?? 0) - (b[n] ?? 0);
		if (difference !== 0) return difference;
	}
	return 0;
}

function tooLow(shown: string, found: ServerVersion | undefined): StoreOpenError {
	const detected = found ? `${found.product} ${found.text}` : "unknown";
	const required = `valkey ${REQUIRED.valkey} or redis ${REQUIRED.redis}`;
	return new StoreOpenError(
		"store_version_too_low",
		`${shown}: the server's version is ${detected}; ${required}, or later, is required: upgrade it`,
		{ detected, required },
	);
}
