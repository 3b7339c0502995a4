import { errorFrom, FlowFabricError } from "../contract/errors.ts";
import type { ErrorBody } from "../contract/replies.ts";
import type { ErrorCode } from "../kernel/errors.ts";
import type { Answer } from "./exchange.ts";

export interface Refused {
	error: FlowFabricError;
	/** The server says that it did nothing. */
	undone: boolean;
	retryAfterMs: number;
}

/** Refusals given before anything was begun. */
const BEFORE_ANYTHING: readonly ErrorCode[] = ["too_many_requests", "shutting_down"];

/** A refusal as it would have been thrown in process. */
export function refusalOf({ status, headers, body }: Answer): Refused {
	const error = errorIn(body) ?? fromElsewhere(status);
	const seconds = Number(headers["retry-after"] ?? 0);
	return {
		error,
		undone: BEFORE_ANYTHING.includes(error.code),
		retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : 0,
	};
}

/** The server itself is on its way out, or something in front of it could not reach it: another may answer. */
export const isServerAway = ({ code }: FlowFabricError): boolean => code === "shutting_down" || code === "unreachable";

function errorIn(body: Buffer): FlowFabricError | undefined {
	try {
		const { error } = JSON.parse(body.toString()) as { error?: ErrorBody };
		return error && typeof error.code === "string" ? errorFrom(error) : undefined;
	} catch {
		return undefined;
	}
}

/** Not our server's words: a proxy in between, or another program. */
function fromElsewhere(status: number): FlowFabricError {
	if (status === 502 || status === 503 || status === 504) {
		return new FlowFabricError("unreachable", { message: `a proxy or gateway answered with status ${status}` });
	}
	return new FlowFabricError("internal", { message: `the answer with status ${status} is not from FlowFabric` });
}
