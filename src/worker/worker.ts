import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Backend } from "../contract/backend.ts";
import type { ClaimedExecution, WorkerNotice } from "../contract/replies.ts";
import { ClaimLoop } from "./claim-loop.ts";
import type { Handler, Middleware } from "./context.ts";
import { checkFunction, checkHandler } from "./handler-checks.ts";
import { Hooks, type WorkerEvents, type WorkerListener } from "./hooks.ts";
import { Job } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { Outage } from "./outage.ts";
import { pause } from "./pause.ts";
import { Registration } from "./registration.ts";
import { onStopSignal } from "./stop-signals.ts";
import { checkGrace, type SettledOptions, settleOptions, type WorkerOptions } from "./worker-options.ts";

/**
 * Claims work and runs handlers. Four things go on at once: a claim loop and its assistant keep `concurrency` jobs running, one timer
 * renews all their leases together, notices abort a job the moment it is cancelled or its lease is gone, and another
 * timer keeps the worker in the registry.
 */
export class Worker {
	/** The name of this very process. */
	readonly instanceId: string;
	readonly #backend: Backend;
	readonly #options: SettledOptions;
	readonly #handlers = new Map<string, Handler>();
	#middleware: readonly Middleware[] = [];
	readonly #hooks: Hooks;
	/** Everything held, by execution; more than `concurrency` while outcomes are on their way. */
	readonly #jobs = new Map<string, Job>();
	#handling = 0;
	#state: "new" | "starting" | "running" | "stopping" | "stopped" = "new";
	readonly #keeper: LeaseKeeper;
	readonly #registration: Registration;
	readonly #claims: ClaimLoop;
	#cleanUp: (() => void)[] = [];
	#stopped: Promise<void> | undefined;

	constructor(backend: Backend, options: WorkerOptions = {}) {
		this.#backend = backend;
		this.#options = settleOptions(options);
		this.#hooks = new Hooks(this.#options.log);
		this.instanceId = options.instanceId ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
		const { namespace, lanes, workerId, capabilities, concurrency, leaseMs, clock, log } = this.#options;
		const { instanceId } = this;
		const outage = new Outage(clock, log);
		this.#keeper = new LeaseKeeper({ backend, clock, leaseMs, outage, jobs: () => this.#jobs.values() });
		/** What both its entry in the registry and its claims say of it. */
		const offer = () => ({
			workerId,
			...(namespace === undefined ? undefined : { namespace }),
			lanes,
			kinds: [...this.#handlers.keys()],
		});
		this.#registration = new Registration({
			backend,
			clock,
			log,
			outage,
			instanceId,
			isClaiming: () => this.#claims.isAsking,
			offer: () => ({ ...offer(), capabilities }),
		});
		const offered = capabilities.length > 0 ? { capabilities } : undefined;
		this.#claims = new ClaimLoop({
			backend,
			clock,
			outage,
			registration: this.#registration,
			concurrency,
			request: () => ({ ...offer(), ...offered, instanceId, leaseMs }),
			handling: () => this.#handling,
			held: () => this.#jobs.size,
			begin: (claimed) => this.#begin(claimed),
			handBack: (claimed) => this.#handBack(claimed),
		});
	}

	/** Registers the handler of a kind; only kinds with a handler are claimed. */
	handle<I = never, R = unknown>(kind: string, handler: Handler<I, R>): this {
		if (this.#state !== "new") throw new TypeError("register handlers before start()");
		checkHandler(kind, handler);
		if (this.#handlers.has(kind)) throw new TypeError(`kind ${kind} already has a handler`);
		this.#handlers.set(kind, handler as Handler);
		return this;
	}

	/** Wraps all handlers; the first registered is the outermost. */
	use(middleware: Middleware): this {
		checkFunction("middleware", middleware);
		// Not added to the list: what runs already goes through what there was when it began.
		this.#middleware = [...this.#middleware, middleware];
		return this;
	}

	/**
	 * Calls back when an execution is `completed`, has `failed` for good, is to be `retried`, or is `lost` to this worker.
	 * Returns a function that ends it. What a listener throws is logged and harms nothing.
	 */
	on<E extends keyof WorkerEvents>(event: E, listener: WorkerListener<E>): () => void {
		this.#hooks.add(event, listener);
		return () => this.off(event, listener);
	}

	/** Ends what `on` began. */
	off<E extends keyof WorkerEvents>(event: E, listener: WorkerListener<E>): this {
		this.#hooks.remove(event, listener);
		return this;
	}

	/** Handlers running now. */
	get running(): number {
		return this.#handling;
	}

	/** Registers the worker and begins to claim; throws at once when an option is refused. */
	async start(): Promise<void> {
		if (this.#state !== "new") throw new TypeError(`this worker is ${this.#state}; create a new one`);
		if (this.#handlers.size === 0) throw new TypeError("a worker needs a handler before start()");
		this.#state = "starting";
		const first = await this.#introduce();
		if (this.#state !== "starting") {
			await Promise.all([this.#registration.stop(), ...first.map((claimed) => this.#handBack(claimed))]);
			return;
		}
		this.#state = "running";
		const { leases } = this.#backend;
		const missed = () => this.#keeper.renew();
		this.#cleanUp.push(leases.notices(this.instanceId, (notice) => this.#noticed(notice), missed));
		this.#keeper.start();
		if (this.#options.handleSignals) this.#cleanUp.push(onStopSignal(() => this.stop()));
		for (const claimed of first) this.#begin(claimed);
		this.#claims.start();
	}

	/** Stops claiming, lets handlers finish for `graceMs`, then aborts them and hands their executions back. */
	stop(options: { graceMs?: number } = {}): Promise<void> {
		if (options.graceMs !== undefined) checkGrace(options.graceMs);
		this.#stopped ??= this.#stop(options.graceMs ?? this.#options.graceMs);
		return this.#stopped;
	}

	async #stop(graceMs: number): Promise<void> {
		if (this.#state === "new" || this.#state === "starting") {
			this.#state = "stopped";
			return this.#claims.stop();
		}
		this.#state = "stopping";
		const claimsOver = this.#claims.stop();
		const left = this.#registration.stop();
		await claimsOver;
		const finished = Promise.all([...this.#jobs.values()].map((job) => job.done));
		const grace = pause(this.#options.clock, graceMs);
		await Promise.race([finished, grace.over]);
		grace.end();
		await Promise.all([...this.#jobs.values()].map((job) => job.handBack()));
		await left;
		this.#keeper.stop();
		for (const cleanUp of this.#cleanUp.splice(0)) cleanUp();
		this.#state = "stopped";
	}

	/** Registers before the first claim, so that whoever counts on workers knows of this one when it takes work. */
	async #introduce(): Promise<ClaimedExecution[]> {
		await this.#registration.start();
		if (this.#state !== "starting") return [];
		try {
			return await this.#claims.first();
		} catch (error) {
			await this.#registration.stop();
			throw error;
		}
	}

	#begin(claimed: ClaimedExecution): void {
		const { clock, leaseMs, log } = this.#options;
		const handler = this.#handlers.get(claimed.kind);
		if (!handler) return void this.#handBack(claimed);
		// Given the same work again: whatever this process still does for it is under a lease that is over.
		this.#jobs.get(claimed.id)?.lose("lease_lost", "the work was claimed again");
		const job = new Job({
			backend: this.#backend,
			clock,
			claimed,
			leaseMs,
			handler,
			middleware: this.#middleware,
			log,
			hooks: this.#hooks,
			onHandled: () => {
				this.#handling -= 1;
				this.#claims.madeRoom();
			},
		});
		this.#jobs.set(claimed.id, job);
		this.#handling += 1;
		void job.done.then(() => {
			if (this.#jobs.get(claimed.id) === job) this.#jobs.delete(claimed.id);
			this.#claims.madeRoom();
		});
	}

	#noticed(notice: WorkerNotice): void {
		const job = this.#jobs.get(notice.executionId);
		if (!job || job.fence.leaseId !== notice.leaseId) return;
		const { budget = "", dimension = "", action = "block" } = notice;
		if (notice.type === "budget_breach") job.breached({ budget, dimension, action });
		else if (notice.type === "cancel_requested") job.abort("cancelled", notice.reason);
		else job.lose(notice.reason === "cancel" ? "cancelled" : "lease_lost", notice.reason);
	}

	/** What a claim brought although nobody here will run it. */
	async #handBack({ id, lease }: ClaimedExecution): Promise<void> {
		try {
			await this.#backend.leases.release(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
		} catch (error) {
			this.#options.log.warn(`${id} could not be handed back; its lease will expire: ${String(error)}`);
		}
	}
}
