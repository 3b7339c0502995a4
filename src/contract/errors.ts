import { ERRORS, type ErrorCode } from "../kernel/errors.ts";
import type { Refusal } from "../kernel/outcome.ts";
import type { ErrorBody } from "./replies.ts";

/** What a caller gets when FlowFabric refuses; the same class in process and over HTTP. */
export class FlowFabricError extends Error {
	override name = "FlowFabricError";
	/** What was refused, for programs; docs/api.md lists all codes. */
	readonly code: ErrorCode;
	/** The HTTP status of such a refusal. */
	readonly status: number;
	/** Whether the same call may succeed later. */
	readonly retryable: boolean;
	/** More for programs, such as the field or the limit; which it has follows from the code. */
	readonly details: Record<string, unknown>;

	constructor(code: ErrorCode, options: { message?: string; details?: Record<string, unknown>; cause?: unknown } = {}) {
		super(options.message ?? ERRORS[code].message, options.cause === undefined ? undefined : { cause: options.cause });
		this.code = code;
		this.status = ERRORS[code].status;
		this.retryable = ERRORS[code].retryable;
		this.details = options.details ?? {};
	}
}

export function refusalError(refusal: Refusal, cause?: unknown): FlowFabricError {
	return new FlowFabricError(refusal.code, {
		details: refusal.details,
		...(cause === undefined ? undefined : { cause }),
	});
}

/** An error as it stands in a reply. What is not one of ours is told as `internal`, without its words. */
export function errorBody(error: unknown): ErrorBody {
	const known = error instanceof FlowFabricError ? error : new FlowFabricError("internal");
	const { code, message, retryable, details } = known;
	return { code, message, retryable, ...(Object.keys(details).length > 0 ? { details } : undefined) };
}

/** A refusal in a reply as it would have been thrown. */
export function errorFrom({ code, message, details }: ErrorBody): FlowFabricError {
	// A newer server may know codes that this program does not.
	if (!Object.hasOwn(ERRORS, code)) return new FlowFabricError("internal", { message: `${code}: ${message}` });
	return new FlowFabricError(code, { message, ...(details ? { details } : undefined) });
}
