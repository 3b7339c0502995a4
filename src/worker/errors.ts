/** Thrown by handlers to say more than "it failed". */

/** The work can never succeed: no retry, whatever the policy says. */
export class TerminalError extends Error {
	override name = "TerminalError";
}

/** Try again, but not before `ms` from now. */
export class RetryAfter extends Error {
	override name = "RetryAfter";
	/** Milliseconds to wait. */
	readonly ms: number;
	constructor(ms: number, message = `retry after ${ms} ms`, options?: { cause?: unknown }) {
		super(message, options);
		this.ms = ms;
	}
}

/** Thrown to handlers. */

/** Why a handler's signal aborted; it is the signal's `reason`. */
export type AbortCause = "lease_lost" | "cancelled" | "shutdown" | "budget_breach" | "suspended";

/** The run is no longer wanted, or no longer ours. It is the reason of the handler's signal. */
export class HandlerAborted extends Error {
	override name = "HandlerAborted";
	/** Why. */
	readonly why: AbortCause;
	constructor(why: AbortCause, message: string) {
		super(message);
		this.why = why;
	}
}

/**
 * Unwinds a handler whose execution now waits: it starts from the top when that is over, and gets back here through what it
 * has recorded. Whoever catches it has to throw it again. A handler that goes on instead can change nothing: every call of
 * its context throws this once more, and what it returns is dropped.
 */
export class HandlerSuspended extends Error {
	override name = "HandlerSuspended";
	/** The call that waits. */
	readonly call: string;
	/** The line it was made in. */
	readonly at: string;
	constructor(call: string, at: string) {
		super(`suspended by ${call}: do not catch this error; the handler runs again when the wait is over`);
		this.call = call;
		this.at = at;
	}
}

/** What was waited for did not come in time. */
export class WaitTimeout extends Error {
	override name = "WaitTimeout";
	/** The kind of failure, as retry policies name it. */
	readonly category = "timeout";
	/** What was waited for. */
	readonly wait: string;
	constructor(wait: string) {
		super(`${wait} did not come in time`);
		this.wait = wait;
	}
}

/** A step took longer than it may. */
export class StepTimeout extends Error {
	override name = "StepTimeout";
	/** The kind of failure, as retry policies name it. */
	readonly category = "timeout";
	/** The name of the step. */
	readonly step: string;
	constructor(step: string, timeoutMs: number) {
		super(`step ${step} took longer than ${timeoutMs} ms`);
		this.step = step;
	}
}
