import { setMaxListeners } from "node:events";
import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { ClaimedExecution, RenewedLease } from "../contract/replies.ts";
import type { CompleteRequest } from "../contract/worker-protocol.ts";
import { backoff } from "./backoff.ts";
import { type Handler, type Middleware, RunContext } from "./context.ts";
import { type AbortCause, HandlerAborted, type HandlerSuspended } from "./errors.ts";
import { detailOf, failureOf, type ThrownFailure } from "./failure.ts";
import { FrameWriter } from "./frame-writer.ts";
import { inSpanOf, runThrough } from "./handler-call.ts";
import type { HandlerRun } from "./handler-run.ts";
import type { Hooks, WorkerEvents } from "./hooks.ts";
import { type HandlerLog, type Logger, logOfRun } from "./logger.ts";

/** One claimed execution in this process, from its claim to the moment its outcome is told. */
export class Job implements HandlerRun {
	readonly id: string;
	readonly fence: { leaseId: string; epoch: number };
	/** Settles when nothing is left to do for this execution here. Never rejects. */
	readonly done: Promise<void>;
	readonly backend: Backend;
	readonly clock: Clock;
	readonly leaseMs: number;
	readonly #workerLog: Logger;
	readonly #kind: string;
	readonly #attempt: number;
	readonly #hooks: Hooks;
	/** Monotonic time at which the handler began. */
	readonly #startedAt: number;
	/** A hook was told how this attempt ended here: once is enough. */
	#isTold = false;
	#log: HandlerLog | undefined;
	/** Made when a handler first asks for its signal; many never do. */
	#controller: AbortController | undefined;
	#aborted: HandlerAborted | undefined;
	/** The last breach it went on in spite of. */
	#breach = "";
	/** Monotonic time at which the lease runs out unless it is renewed. */
	expiresAt: number;
	/** The lease is over: nothing about this execution is ours to tell any more. */
	lost = false;
	#handedBack = false;
	/** Made when a handler first writes. */
	#stream: FrameWriter | undefined;
	/** What unwinds the handler since its execution waits. */
	#suspended: HandlerSuspended | undefined;

	constructor(options: {
		backend: Backend;
		clock: Clock;
		claimed: ClaimedExecution;
		leaseMs: number;
		handler: Handler;
		middleware: readonly Middleware[];
		log: Logger;
		hooks: Hooks;
		/** Called when the handler has returned or thrown; its outcome is still to be told. */
		onHandled: () => void;
	}) {
		const { claimed, backend, clock, log } = options;
		this.id = claimed.id;
		this.fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		this.backend = backend;
		this.clock = clock;
		this.leaseMs = options.leaseMs;
		this.#workerLog = log;
		this.#kind = claimed.kind;
		this.#attempt = claimed.attempt.index;
		this.#hooks = options.hooks;
		this.#startedAt = clock.monotonic();
		this.expiresAt = this.#startedAt + options.leaseMs;
		const context = new RunContext(claimed, this);
		const { middleware, handler } = options;
		const handle = () => this.#untilSuspended(runThrough(middleware, context, handler));
		this.done = this.#run(() => inSpanOf(claimed, handle), options.onHandled);
	}

	/** Runs the handler to its end, then tells what came of it. Never rejects. */
	async #run(handle: () => Promise<unknown>, onHandled: () => void): Promise<void> {
		// Whoever made this job knows it before the handler starts.
		await undefined;
		let report: () => Promise<void>;
		try {
			const result = await handle();
			report = () => this.#complete(result);
		} catch (error) {
			const failure = failureOf(error);
			const detail = detailOf(error, failure.reason);
			report = () => this.#fail(failure, detail);
		}
		onHandled();
		if (this.#suspended) return;
		try {
			await this.flush();
			await this.#tell(report);
		} catch (error) {
			// The lease stays until it lapses and the work returns by itself: nothing is lost, but somebody should know.
			this.log.error(`its outcome could not be reported: ${String(error)}`);
		}
	}

	/** What the handler came to; of one that was unwound, nothing. */
	async #untilSuspended(handled: Promise<unknown>): Promise<unknown> {
		try {
			const result = await handled;
			if (this.#suspended) this.#warn("returned");
			return result;
		} catch (error) {
			if (!this.#suspended) throw error;
			if (error !== this.#suspended) this.#warn(`threw ${String(error)}`);
			return undefined;
		}
	}

	#warn(what: string): void {
		const { call = "", at = "" } = this.#suspended ?? {};
		this.log.warn(
			`continued although ${call} had suspended it, and ${what}: that is ignored, and the handler runs again. Fix the code that catches the error of ${call}: ${at}`,
		);
	}

	get stream(): FrameWriter {
		this.#stream ??= new FrameWriter(this);
		return this.#stream;
	}

	/** What can no longer be kept does not keep the outcome from being told. */
	async flush(): Promise<void> {
		await this.#stream?.sent().catch((error) => this.log.debug(`its stream has stopped: ${String(error)}`));
	}

	/** What a renewal said of this lease. */
	renewed(answer: RenewedLease, askedAt: number): void {
		if (answer.ok) {
			// An answer may come behind that of a later question.
			this.expiresAt = Math.max(this.expiresAt, askedAt + this.leaseMs);
			if (answer.budgetBreach) this.breached(answer.budgetBreach);
			if (answer.cancelRequested) this.abort("cancelled", answer.reason ?? "cancel requested");
		} else if (answer.budgetBreach) this.breached(answer.budgetBreach);
		else if (answer.error && !answer.error.retryable) this.lose("lease_lost", answer.error.message);
	}

	/** A budget it was admitted under refused a report. One that only blocks lets it go on. */
	breached({ budget, dimension, action }: NonNullable<RenewedLease["budgetBreach"]>): void {
		const message = `budget ${budget}: ${dimension} is exhausted`;
		if (action === "block") {
			if (this.#breach !== message) this.log.warn(message);
			this.#breach = message;
		} else if (action === "cancel") this.abort("budget_breach", message);
		else this.lose("budget_breach", message);
	}

	/** Without a renewal for a whole ttl the lease may be another's by now. */
	checkExpiry(): void {
		if (this.clock.monotonic() >= this.expiresAt) this.lose("lease_lost", "the lease could not be renewed in time");
	}

	/** The lease is gone, for whatever reason. */
	lose(why: AbortCause, message: string): void {
		if (!this.lost && why !== "suspended") this.#tellHook("lost", { cause: why, reason: message });
		this.lost = true;
		this.abort(why, message);
	}

	/** The lease was given up so that the execution can wait: nothing is left to be told. */
	suspended(by: HandlerSuspended): void {
		this.#suspended ??= by;
		this.lose("suspended", by.message);
	}

	get over(): Error | undefined {
		if (this.#suspended) return this.#suspended;
		return this.lost || this.#handedBack ? this.#aborted : undefined;
	}

	get isAborted(): boolean {
		return this.#aborted !== undefined;
	}

	abort(why: AbortCause, message: string): void {
		if (this.#aborted) return;
		this.#aborted = new HandlerAborted(why, message);
		this.#controller?.abort(this.#aborted);
	}

	/** Says which execution it speaks of. */
	get log(): HandlerLog {
		this.#log ??= logOfRun(this.#workerLog, { kind: this.#kind, executionId: this.id, attempt: this.#attempt });
		return this.#log;
	}

	get signal(): AbortSignal {
		if (!this.#controller) {
			this.#controller = new AbortController();
			// Whatever a handler does side by side listens to it, however much that is.
			setMaxListeners(0, this.#controller.signal);
			if (this.#aborted) this.#controller.abort(this.#aborted);
		}
		return this.#controller.signal;
	}

	/** Aborts the handler and gives the execution to whoever claims it next; whatever the handler still does is dropped. */
	async handBack(): Promise<void> {
		if (this.lost || this.#handedBack) return;
		// What it has written goes out while it is still its own.
		const flushed = this.flush();
		this.#handedBack = true;
		this.abort("shutdown", "the worker is shutting down");
		try {
			await flushed;
			await this.backend.leases.release(this.id, { fence: this.fence });
		} catch (error) {
			this.log.warn(`could not be handed back; its lease will expire: ${String(error)}`);
		}
	}

	async #complete(result: unknown): Promise<void> {
		const { fence } = this;
		const request: CompleteRequest = { fence };
		if (result instanceof Uint8Array) request.resultBase64 = Buffer.from(result).toString("base64");
		else if (result !== undefined) request.result = result;
		try {
			const { publicState } = await this.backend.leases.complete(this.id, request);
			if (publicState === "completed") this.#tellHook("completed", {});
			else this.#tellHook("lost", { cause: "cancelled", reason: `it is ${publicState} by now` });
		} catch (error) {
			if (!(error instanceof FlowFabricError) || error.status === 409 || error.status === 404 || error.retryable)
				throw error;
			// A result that cannot be kept will not be kept next time either.
			const failure = { reason: error.message, category: "permanent" };
			await this.backend.leases.fail(this.id, { fence, ...failure });
			this.#tellHook("failed", failure);
		}
	}

	async #fail(failure: ThrownFailure, detail: string | undefined): Promise<void> {
		const { id, fence } = this;
		const { publicState, retryAt } = await this.backend.leases.fail(id, {
			fence,
			...failure,
			...(detail === undefined ? undefined : { detail }),
		});
		const { reason, category } = failure;
		const told = { reason, category, ...(detail === undefined ? undefined : { detail }) };
		if (publicState === "cancelled") this.#tellHook("lost", { cause: "cancelled", reason: "it was cancelled" });
		else if (retryAt === undefined) this.#tellHook("failed", told);
		else this.#tellHook("retried", { ...told, retryAt });
		const why = detail ?? failure.reason;
		if (publicState === "cancelled") this.log.debug(`cancelled, and threw ${why}`);
		else if (retryAt === undefined) this.log.error(`failed: ${why}`);
		else this.log.warn(`failed, and will be retried at ${new Date(retryAt).toISOString()}: ${why}`);
	}

	#tellHook<E extends keyof WorkerEvents>(name: E, more: Omit<WorkerEvents[E], keyof WorkerEvents["completed"]>): void {
		if (this.#isTold) return;
		this.#isTold = true;
		const durationMs = Math.round(this.clock.monotonic() - this.#startedAt);
		const attempt = { executionId: this.id, kind: this.#kind, attempt: this.#attempt, durationMs };
		this.#hooks.tell(name, { ...attempt, ...more } as WorkerEvents[E]);
	}

	/** Tells an outcome until it is heard, refused, or no longer ours to tell. */
	async #tell(report: () => Promise<void>): Promise<void> {
		for (let tries = 0; ; tries++) {
			if (this.lost || this.#handedBack) return;
			try {
				await report();
				return;
			} catch (error) {
				// What is not a refusal is a fault on the way, and may be gone at the next try.
				if (error instanceof FlowFabricError && !error.retryable) {
					this.log.info(`its outcome was refused: ${error.code}`);
					this.#tellHook("lost", { cause: "lease_lost", reason: error.message });
					return;
				}
				await new Promise<void>((resolve) => void this.clock.setTimer(backoff(tries), resolve));
			}
		}
	}
}
