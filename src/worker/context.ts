import { randomUUID } from "node:crypto";
import type { Backend } from "../contract/backend.ts";
import type { ClaimedExecution, UsageReply } from "../contract/replies.ts";
import type { Logger } from "./logger.ts";

/** What a handler is given besides its input. */
export interface Context<I = unknown> {
	readonly execution: {
		id: string;
		kind: string;
		namespace: string;
		lane: string;
		/** As they were when it was claimed. */
		tags: Record<string, string>;
		traceparent?: string;
	};
	/** Which run this is: 0 is the first. */
	readonly attempt: { index: number; type: string };
	readonly input: I;
	readonly contentType: string;
	/** Aborts, with a `HandlerAborted` as its reason, the moment this run is no longer wanted or no longer ours. */
	readonly signal: AbortSignal;
	readonly log: Logger;
	/** Tells how far the work is; what is not given stays as it was. */
	progress(progress: { percent?: number; message?: string }): Promise<void>;
	/**
	 * Reports what was spent of a budget, and tells what came of it: a breach is an answer, not an error. Said again under
	 * the same `dedupKey` within 24 hours, also by a later attempt, it is counted once; without one each call counts.
	 */
	usage(budget: string, dims: Record<string, number>, options?: { dedupKey?: string }): Promise<UsageReply>;
}

export type Handler<I = never, R = unknown> = (ctx: Context<I>, input: I) => Promise<R> | R;

/** Wraps every handler of a worker; `next` runs the rest and gives the handler's result. */
export type Middleware = (ctx: Context, next: () => Promise<unknown>) => Promise<unknown>;

/** What a context takes from the run it belongs to; made only when asked for, as many handlers never do. */
export interface RunParts {
	readonly signal: AbortSignal;
	readonly log: Logger;
	readonly fence: { leaseId: string; epoch: number };
}

export class RunContext implements Context {
	readonly execution: Context["execution"];
	readonly attempt: Context["attempt"];
	readonly input: unknown;
	readonly contentType: string;
	readonly #backend: Backend;
	readonly #run: RunParts;

	constructor(backend: Backend, claimed: ClaimedExecution, run: RunParts) {
		const { id, kind, namespace, lane, tags, traceparent } = claimed;
		this.execution = { id, kind, namespace, lane, tags };
		if (traceparent !== undefined) this.execution.traceparent = traceparent;
		this.attempt = claimed.attempt;
		this.input = inputOf(claimed);
		this.contentType = claimed.contentType;
		this.#backend = backend;
		this.#run = run;
	}

	get signal(): AbortSignal {
		return this.#run.signal;
	}

	get log(): Logger {
		return this.#run.log;
	}

	/** Handlers take it out of their context, so it must not need one. */
	readonly progress = async (progress: { percent?: number; message?: string }): Promise<void> => {
		await this.#backend.leases.progress(this.execution.id, { fence: this.#run.fence, ...progress });
	};

	/** The key is made here, so that a report that has to be sent twice is the same report. */
	readonly usage: Context["usage"] = (budget, dims, { dedupKey = randomUUID() } = {}) =>
		this.#backend.leases.usage(this.execution.id, { fence: this.#run.fence, budget, dims, dedupKey });
}

/** JSON and text as values, everything else as bytes. */
function inputOf(claimed: ClaimedExecution): unknown {
	return claimed.inputBase64 === undefined ? claimed.input : new Uint8Array(Buffer.from(claimed.inputBase64, "base64"));
}
