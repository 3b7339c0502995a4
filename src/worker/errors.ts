/** Thrown by handlers to say more than "it failed". */

/** The work can never succeed: no retry, whatever the policy says. */
export class TerminalError extends Error {
	override name = "TerminalError";
}

/** Try again, but not before `ms` from now. */
export class RetryAfter extends Error {
	override name = "RetryAfter";
	readonly ms: number;
	constructor(ms: number, message = `retry after ${ms} ms`, options?: { cause?: unknown }) {
		super(message, options);
		this.ms = ms;
	}
}

/** Why a handler's signal aborted; it is the signal's `reason`. */
export type AbortCause = "lease_lost" | "cancelled" | "shutdown" | "budget_breach";

export class HandlerAborted extends Error {
	override name = "HandlerAborted";
	readonly why: AbortCause;
	constructor(why: AbortCause, message: string) {
		super(message);
		this.why = why;
	}
}
