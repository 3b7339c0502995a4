import { FlowFabricError } from "../contract/errors.ts";
import { toJson } from "../contract/json.ts";
import { type RecordStepRequest, type StepOptions, stepCall } from "../contract/steps.ts";
import { type RetryPolicy, retryDelay } from "../kernel/policy.ts";
import { HandlerSuspended, StepTimeout, TerminalError } from "./errors.ts";
import { failureOf } from "./failure.ts";
import { type HandlerRun, insist, pause } from "./handler-run.ts";
import { RecordedSteps, valueOfStep } from "./recorded-steps.ts";

/** The work of a step. Its signal aborts when the step takes too long, or the run is no longer wanted. */
export type StepFunction<T> = (signal: AbortSignal) => Promise<T> | T;

/** The steps of one run of a handler: each runs once and is recorded, or was recorded before and does not run. */
export class Steps {
	readonly #run: HandlerRun;
	readonly #recorded: RecordedSteps;
	/** How many steps of each name this run has come by. */
	readonly #counts = new Map<string, number>();

	constructor(run: HandlerRun, stepCount: number) {
		this.#run = run;
		this.#recorded = new RecordedSteps(run, stepCount);
	}

	/** The index is taken before anything is waited for: steps that run side by side are counted in the order of the calls. */
	async step<T>(name: string, fn: StepFunction<T>, options: StepOptions): Promise<T> {
		const { retry, timeoutMs } = stepCall.check({ ...options, name });
		const index = this.next(name);
		const recorded = await this.find(name, index);
		if (recorded) return recorded.value as T;
		const startedAt = this.now();
		let result: T;
		try {
			result = await this.#tries(name, fn, retry as RetryPolicy | undefined, timeoutMs);
		} catch (error) {
			await this.#keepFailure(name, index, startedAt, error);
			throw error;
		}
		// What it wrote to the stream no later run will write again.
		await this.#run.flush();
		return (await this.keep(name, index, startedAt, result)) as T;
	}

	/** When something begins that will be recorded. */
	now(): number {
		return Math.floor(this.#run.clock.now());
	}

	/** Which step of its name the next one is. */
	next(name: string): number {
		const index = this.#counts.get(name) ?? 0;
		this.#counts.set(name, index + 1);
		return index;
	}

	/** What a step returned, if that was recorded. */
	async find(name: string, index: number): Promise<{ value: unknown } | undefined> {
		if (this.#run.over) throw this.#run.over;
		const step = await this.#recorded.take(name, index);
		if (this.#run.over) throw this.#run.over;
		return step && { value: valueOfStep(step) };
	}

	/**
	 * Records what a step returned, and gives it as it was recorded: a run that finds it later must not see anything else. What
	 * cannot be recorded now could not be the next time either.
	 */
	async keep(name: string, index: number, startedAt: number, result: unknown): Promise<unknown> {
		try {
			const { fields, value } = packed(result);
			await this.#record({ name, index, startedAt, ...fields });
			return value;
		} catch (error) {
			if (!(error instanceof FlowFabricError)) throw error;
			throw new TerminalError(`step ${name} cannot be recorded: ${error.message}`, { cause: error });
		}
	}

	/** What fails because the run was stopped has not failed by itself. */
	async #keepFailure(name: string, index: number, startedAt: number, error: unknown): Promise<void> {
		if (this.#run.isAborted || error instanceof HandlerSuspended) return;
		const { reason, category } = failureOf(error);
		try {
			await this.#record({ name, index, startedAt, error: { reason, category } });
		} catch (refusal) {
			this.#run.log.debug(`the failure of step ${name} was not recorded: ${String(refusal)}`);
		}
	}

	#record(step: RecordStepRequest): Promise<unknown> {
		const { id, fence, backend } = this.#run;
		return insist(this.#run, () => backend.leases.recordStep(id, { fence, ...step }));
	}

	async #tries<T>(
		name: string,
		fn: StepFunction<T>,
		retry: RetryPolicy | undefined,
		timeoutMs: number | undefined,
	): Promise<T> {
		for (let retries = 0; ; retries++) {
			try {
				return await (timeoutMs === undefined ? fn(this.#run.signal) : this.#inTime(name, fn, timeoutMs));
			} catch (error) {
				if (!retry || this.#run.isAborted || error instanceof HandlerSuspended) throw error;
				const failure = failureOf(error);
				const delay = retryDelay({ retry }, retries, failure, Math.random());
				if (delay === undefined) throw error;
				this.#run.log.info(`step ${name} failed and will be retried in ${delay} ms: ${failure.reason}`);
				await pause(this.#run, delay);
				if (this.#run.isAborted) throw error;
			}
		}
	}

	/** A function that does not heed its signal goes on, but nobody waits for it. */
	async #inTime<T>(name: string, fn: StepFunction<T>, timeoutMs: number): Promise<T> {
		const { clock, signal } = this.#run;
		const controller = new AbortController();
		const stop = () => controller.abort(signal.reason);
		if (signal.aborted) stop();
		else signal.addEventListener("abort", stop);
		let disarm = () => {};
		const late = new Promise<never>((_, reject) => {
			disarm = clock.setTimer(timeoutMs, () => {
				const error = new StepTimeout(name, timeoutMs);
				controller.abort(error);
				reject(error);
			});
		});
		try {
			return await Promise.race([fn(controller.signal), late]);
		} finally {
			disarm();
			signal.removeEventListener("abort", stop);
		}
	}
}

/** A result as it is sent, and as it comes back. */
function packed(result: unknown): { fields: Pick<RecordStepRequest, "result" | "resultBase64">; value: unknown } {
	if (result === undefined) return { fields: {}, value: undefined };
	if (result instanceof Uint8Array) {
		const resultBase64 = Buffer.from(result.buffer, result.byteOffset, result.byteLength).toString("base64");
		return { fields: { resultBase64 }, value: new Uint8Array(result) };
	}
	if (typeof result === "string" || typeof result === "boolean" || result === null)
		return { fields: { result }, value: result };
	const value: unknown = JSON.parse(toJson("result", result));
	return { fields: { result: value }, value };
}
