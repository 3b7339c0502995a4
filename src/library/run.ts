import type { Backend } from "../contract/backend.ts";
import { fromBytes } from "../contract/content-types.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { CancelRequest } from "../contract/executions.ts";
import type { Created, Execution, ProgressNotice } from "../contract/replies.ts";
import type { PublicState } from "../kernel/state.ts";
import { progressOf } from "./progress.ts";
import { type TailedFrame, type TailOptions, tailOf } from "./tail.ts";

/** The work ended, but not with a result. */
export class ExecutionFailed extends Error {
	override name = "ExecutionFailed";
	/** The execution as it ended. */
	readonly execution: Execution;
	constructor(execution: Execution) {
		const why = execution.failure?.reason ?? execution.cancel?.reason;
		super(`execution ${execution.id} ended ${execution.publicState}${why ? `: ${why}` : ""}`);
		this.execution = execution;
	}

	/** How it ended. */
	get publicState(): PublicState {
		return this.execution.publicState;
	}
}

/** How long to wait; without a limit as long as it takes. */
export interface WaitOptions {
	/** Milliseconds to wait (no limit). */
	timeoutMs?: number;
	/** Ends the wait with its reason (none). */
	signal?: AbortSignal;
}

/** A submitted execution, to wait for and ask about. */
export class Run<R = unknown> {
	/** Id of the execution. */
	readonly id: string;
	/** False when an idempotency key led to an execution that was there already. */
	readonly created: boolean;
	readonly #backend: Backend;

	constructor(backend: Backend, { id, created }: Pick<Created, "id" | "created">) {
		this.#backend = backend;
		this.id = id;
		this.created = created;
	}

	/** What the handler returned; throws `ExecutionFailed` if it ended otherwise, `wait_timeout` if it has not. */
	async result(options: WaitOptions = {}): Promise<R> {
		return resultOf<R>(this.#backend, this.id, options);
	}

	/** The execution once it has ended, or as it is when the time is over. */
	wait(options: WaitOptions = {}): Promise<Execution> {
		return this.#backend.executions.wait(this.id, options);
	}

	/** The execution as it is now. */
	get(): Promise<Execution> {
		return this.#backend.executions.get(this.id);
	}

	/** Cancels it: at once if it is not running, else its worker is asked to stop. */
	cancel(request: CancelRequest = {}) {
		return this.#backend.executions.cancel(this.id, request);
	}

	/**
	 * How far it is, whenever its handler says so, at most four times a second; ends with the execution. What was said before
	 * is not told: `get` shows it.
	 */
	progress({
		signal,
	}: {
		/** Stops following (none). */
		signal?: AbortSignal;
	} = {}): AsyncGenerator<ProgressNotice> {
		return progressOf(this.#backend, this.id, signal);
	}

	/**
	 * What its handler tells while it runs, as it comes, over retries and crashes; ends with the execution. The first frame of
	 * a later attempt has `isNewAttempt`: what came before it is of a run that did not end well.
	 */
	tail(options: TailOptions = {}): AsyncGenerator<TailedFrame> {
		return tailOf(this.#backend, this.id, options);
	}
}

export async function resultOf<R>(backend: Backend, id: string, options: WaitOptions): Promise<R> {
	const execution = await backend.executions.wait(id, options);
	if (execution.state.lifecyclePhase !== "terminal") {
		throw new FlowFabricError("wait_timeout", { details: { executionId: id, publicState: execution.publicState } });
	}
	if (execution.publicState !== "completed") throw new ExecutionFailed(execution);
	try {
		return fromBytes(await backend.executions.result(id)) as R;
	} catch (error) {
		// A handler that returned nothing leaves nothing.
		if (error instanceof FlowFabricError && error.code === "result_not_found") return undefined as R;
		throw error;
	}
}
