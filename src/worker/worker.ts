import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Backend } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { ClaimedExecution, WorkerNotice } from "../contract/replies.ts";
import { MAX_CLAIM, MAX_CLAIM_WAIT_MS } from "../contract/worker-protocol.ts";
import { type Clock, systemClock } from "../engine/clock.ts";
import { backoff } from "./backoff.ts";
import type { Handler, Middleware } from "./context.ts";
import { Job } from "./job.ts";
import { type Logger, prefixed, quietLogger } from "./logger.ts";
import { onStopSignal } from "./stop-signals.ts";

export interface WorkerOptions {
	/** Lanes to take work from, best first. */
	lanes?: string[];
	namespace?: string;
	/** Executions run at the same time. */
	concurrency?: number;
	/** Time to live of leases; they are renewed at a third of it. */
	leaseMs?: number;
	/** A name for this kind of worker, and one for this very process. */
	workerId?: string;
	instanceId?: string;
	/** How long `stop()` lets handlers finish. */
	graceMs?: number;
	/** Stop on SIGTERM and SIGINT; the second signal ends the process at once. */
	handleSignals?: boolean;
	log?: Logger;
	/** For tests: how time passes. */
	clock?: Clock;
}

const RENEWALS_PER_CALL = 1000;

/**
 * Claims work and runs handlers. Three things go on at once: the claim loop keeps `concurrency` jobs running, one timer
 * renews all their leases together, and notices abort a job the moment it is cancelled or its lease is gone.
 */
export class Worker {
	readonly instanceId: string;
	readonly #backend: Backend;
	readonly #options: Required<Omit<WorkerOptions, "instanceId">>;
	readonly #handlers = new Map<string, Handler>();
	readonly #middleware: Middleware[] = [];
	/** Everything held, by execution; more than `concurrency` while outcomes are on their way. */
	readonly #jobs = new Map<string, Job>();
	#handling = 0;
	#state: "new" | "running" | "stopping" | "stopped" = "new";
	#claiming: AbortController | undefined;
	#loop: Promise<void> | undefined;
	#slotFreed: (() => void) | undefined;
	#cleanUp: (() => void)[] = [];
	#stopped: Promise<void> | undefined;

	constructor(backend: Backend, options: WorkerOptions = {}) {
		this.#backend = backend;
		const { concurrency = 16, leaseMs = 30_000 } = options;
		if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000) {
			throw new FlowFabricError("invalid_input", {
				message: `concurrency: must be an integer from 1 to 10000, got ${String(concurrency)}`,
				details: { field: "concurrency" },
			});
		}
		this.#options = {
			lanes: options.lanes ?? ["default"],
			namespace: options.namespace ?? "default",
			concurrency,
			leaseMs,
			workerId: options.workerId ?? "worker",
			graceMs: options.graceMs ?? 10_000,
			handleSignals: options.handleSignals ?? true,
			log: options.log ?? quietLogger,
			clock: options.clock ?? systemClock,
		};
		this.instanceId = options.instanceId ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
	}

	/** Registers the handler of a kind; only kinds with a handler are claimed. */
	handle<I = never, R = unknown>(kind: string, handler: Handler<I, R>): this {
		if (this.#state !== "new") throw new TypeError("handlers are registered before start()");
		if (this.#handlers.has(kind)) throw new TypeError(`kind ${kind} has a handler already`);
		this.#handlers.set(kind, handler as Handler);
		return this;
	}

	/** Wraps all handlers; the first registered is the outermost. */
	use(middleware: Middleware): this {
		this.#middleware.push(middleware);
		return this;
	}

	/** Handlers running now. */
	get running(): number {
		return this.#handling;
	}

	async start(): Promise<void> {
		if (this.#state !== "new") throw new TypeError(`this worker is ${this.#state}; make a new one`);
		if (this.#handlers.size === 0) throw new TypeError("a worker needs a handler before start()");
		const first = await this.#firstClaim();
		this.#state = "running";
		this.#cleanUp.push(this.#backend.notices(this.instanceId, (notice) => this.#noticed(notice)));
		this.#renewLater();
		if (this.#options.handleSignals) this.#cleanUp.push(onStopSignal(() => this.stop()));
		for (const claimed of first) this.#begin(claimed);
		this.#loop = this.#claimLoop();
	}

	/** Stops claiming, lets handlers finish for `graceMs`, then aborts them and hands their executions back. */
	stop(options: { graceMs?: number } = {}): Promise<void> {
		this.#stopped ??= this.#stop(options.graceMs ?? this.#options.graceMs);
		return this.#stopped;
	}

	async #stop(graceMs: number): Promise<void> {
		if (this.#state === "new") {
			this.#state = "stopped";
			return;
		}
		this.#state = "stopping";
		this.#claiming?.abort();
		this.#slotFreed?.();
		await this.#loop;
		const finished = Promise.all([...this.#jobs.values()].map((job) => job.done));
		const grace = this.#pause(graceMs);
		await Promise.race([finished, grace.over]);
		grace.end();
		await Promise.all([...this.#jobs.values()].map((job) => job.handBack()));
		for (const cleanUp of this.#cleanUp.splice(0)) cleanUp();
		this.#state = "stopped";
	}

	async #claimLoop(): Promise<void> {
		let failures = 0;
		while (this.#state === "running") {
			if (this.#freeSlots() <= 0) {
				await new Promise<void>((resolve) => (this.#slotFreed = resolve));
				continue;
			}
			try {
				for (const claimed of await this.#claim(MAX_CLAIM_WAIT_MS)) this.#begin(claimed);
				failures = 0;
			} catch (error) {
				if (this.#state !== "running") return;
				this.#options.log.warn(`claiming failed, trying again: ${String(error)}`);
				const pause = this.#pause(backoff(failures++));
				this.#slotFreed = pause.end;
				await pause.over;
			}
		}
	}

	/** Shows a bad option at once, not in a loop that only logs it; a store that is away just now is no bad option. */
	async #firstClaim(): Promise<ClaimedExecution[]> {
		try {
			return await this.#claim(0);
		} catch (error) {
			if (error instanceof FlowFabricError && error.retryable) return [];
			throw error;
		}
	}

	async #claim(waitMs: number): Promise<ClaimedExecution[]> {
		const { namespace, lanes, leaseMs, workerId } = this.#options;
		this.#claiming = new AbortController();
		return this.#backend.claim(
			{
				namespace,
				lanes,
				kinds: [...this.#handlers.keys()],
				workerId,
				instanceId: this.instanceId,
				max: Math.min(MAX_CLAIM, this.#freeSlots()),
				leaseMs,
				waitMs,
			},
			this.#claiming.signal,
		);
	}

	/**
	 * A handler that has returned frees its place at once, so that the next claim and the outcome go out together; but
	 * when outcomes cannot be told, claiming stops before more is held than could be run.
	 */
	#freeSlots(): number {
		const { concurrency } = this.#options;
		return Math.min(concurrency - this.#handling, 2 * concurrency - this.#jobs.size);
	}

	#begin(claimed: ClaimedExecution): void {
		const { clock, leaseMs, log } = this.#options;
		const handler = this.#handlers.get(claimed.kind);
		if (!handler || this.#state !== "running") {
			void this.#backend
				.release(claimed.id, { fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch } })
				.catch((error: unknown) => log.warn(`${claimed.id} could not be handed back: ${String(error)}`));
			return;
		}
		const job = new Job({
			backend: this.#backend,
			clock,
			claimed,
			leaseMs,
			handler,
			middleware: this.#middleware,
			log: prefixed(log, `${claimed.kind} ${claimed.id}:`),
		});
		this.#jobs.set(claimed.id, job);
		this.#handling += 1;
		void job.handled.then(() => {
			this.#handling -= 1;
			this.#slotFreed?.();
		});
		void job.done.then(() => {
			if (this.#jobs.get(claimed.id) === job) this.#jobs.delete(claimed.id);
			this.#slotFreed?.();
		});
	}

	#renewLater(): void {
		const disarm = this.#options.clock.setTimer(this.#options.leaseMs / 3, () => {
			this.#cleanUp = this.#cleanUp.filter((other) => other !== disarm);
			void this.#renew().finally(() => {
				if (this.#state !== "stopped") this.#renewLater();
			});
		});
		this.#cleanUp.push(disarm);
	}

	async #renew(): Promise<void> {
		const jobs = [...this.#jobs.values()];
		const askedAt = this.#options.clock.monotonic();
		for (let from = 0; from < jobs.length; from += RENEWALS_PER_CALL) {
			const some = jobs.slice(from, from + RENEWALS_PER_CALL);
			try {
				const leases = some.map((job) => ({ executionId: job.id, ...job.fence }));
				const answers = await this.#backend.renew({ leases, leaseMs: this.#options.leaseMs });
				answers.forEach((answer, n) => {
					some[n]?.renewed(answer, askedAt);
				});
			} catch (error) {
				this.#options.log.warn(`leases could not be renewed: ${String(error)}`);
			}
		}
		for (const job of jobs) job.checkExpiry();
	}

	#noticed(notice: WorkerNotice): void {
		const job = this.#jobs.get(notice.executionId);
		if (!job || job.fence.leaseId !== notice.leaseId) return;
		job.abort(notice.type === "cancel_requested" ? "cancelled" : "lease_lost", notice.reason);
	}

	/** A wait that ends by itself or by `end`, and leaves no timer behind. */
	#pause(ms: number): { over: Promise<void>; end: () => void } {
		let end = () => {};
		const over = new Promise<void>((resolve) => {
			const disarm = this.#options.clock.setTimer(ms, resolve);
			end = () => {
				disarm();
				resolve();
			};
		});
		return { over, end };
	}
}
