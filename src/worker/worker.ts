import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Backend } from "../contract/backend.ts";
import { type Clock, systemClock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { namesOf, refuseUnknownOptions } from "../contract/option-names.ts";
import type { ClaimedExecution, WorkerNotice } from "../contract/replies.ts";
import { MAX_CLAIM, MAX_CLAIM_WAIT_MS } from "../contract/worker-protocol.ts";
import { backoff } from "./backoff.ts";
import type { Handler, Middleware } from "./context.ts";
import { Hooks, type WorkerEvents, type WorkerListener } from "./hooks.ts";
import { Job } from "./job.ts";
import { LeaseKeeper } from "./lease-keeper.ts";
import { type Logger, quietLogger } from "./logger.ts";
import { Outage } from "./outage.ts";
import { Registration } from "./registration.ts";
import { onStopSignal } from "./stop-signals.ts";

/** What a worker offers and how it works; defaults stand in parentheses. */
export interface WorkerOptions {
	/** Lanes to take work from, best first (`["default"]`). */
	lanes?: string[];
	/** The namespace to take work from (`default`, or the one the token is bound to). */
	namespace?: string;
	/** What this worker offers: it is given work that requires no more than this (nothing). */
	capabilities?: string[];
	/** Executions run at the same time (16). */
	concurrency?: number;
	/** Time to live of leases (30000); they are renewed at a third of it. */
	leaseMs?: number;
	/** A name for this kind of worker (`worker`). */
	workerId?: string;
	/** A name for this very process (made of host, process and chance). */
	instanceId?: string;
	/** How long `stop()` lets handlers finish (10000). */
	graceMs?: number;
	/** Stop on SIGTERM and SIGINT (true); the second signal ends the process at once. */
	handleSignals?: boolean;
	/** Where it logs (warnings and errors to standard error). */
	log?: Logger;
	/** For tests: how time passes (the machine's clock). */
	clock?: Clock;
}

const OPTION_NAMES = namesOf<WorkerOptions>({
	lanes: true,
	namespace: true,
	capabilities: true,
	concurrency: true,
	leaseMs: true,
	workerId: true,
	instanceId: true,
	graceMs: true,
	handleSignals: true,
	log: true,
	clock: true,
});

const HASTY_MS = 10;
const MAX_GRACE_MS = 86_400_000;
/**
 * Claims that are out at a time, each for its part of the room: while one is answered, what the other brought is run and
 * told of. More of them bring less each (lifecycles on Valkey with 16 handlers: 1.4 × those with one, 1.1 × with four).
 */
const CLAIMS_OUT = 2;

/**
 * Claims work and runs handlers. Four things go on at once: a claim loop and its assistant keep `concurrency` jobs running, one timer
 * renews all their leases together, notices abort a job the moment it is cancelled or its lease is gone, and another
 * timer keeps the worker in the registry.
 */
export class Worker {
	/** The name of this very process. */
	readonly instanceId: string;
	readonly #backend: Backend;
	readonly #options: Required<Omit<WorkerOptions, "instanceId" | "namespace">> & Pick<WorkerOptions, "namespace">;
	readonly #handlers = new Map<string, Handler>();
	#middleware: readonly Middleware[] = [];
	readonly #hooks: Hooks;
	readonly #outage: Outage;
	/** Everything held, by execution; more than `concurrency` while outcomes are on their way. */
	readonly #jobs = new Map<string, Job>();
	#handling = 0;
	/** Places kept for what claims that are out may bring. */
	#askedFor = 0;
	#state: "new" | "starting" | "running" | "stopping" | "stopped" = "new";
	readonly #keeper: LeaseKeeper;
	readonly #registration: Registration;
	/** Aborted once, when claiming is over. */
	readonly #claiming = new AbortController();
	#loop: Promise<void> | undefined;
	#assistant: Promise<void> | undefined;
	readonly #claimingHow = {
		onUnanswered: (error: FlowFabricError) => {
			if (this.#state !== "running") return;
			this.#outage.failed("claiming", error);
			// A claim may be answered only when there is work; this is answered as soon as somebody is there.
			this.#registration.beatSoon();
		},
	};
	/** Claims that wait for room before they are made. */
	#roomless = new Set<() => void>();
	#cleanUp: (() => void)[] = [];
	#stopped: Promise<void> | undefined;

	constructor(backend: Backend, options: WorkerOptions = {}) {
		refuseUnknownOptions("worker()", options, OPTION_NAMES);
		this.#backend = backend;
		const { concurrency = 16, leaseMs = 30_000, graceMs = 10_000 } = options;
		checkInteger("concurrency", concurrency, 1, 10_000);
		checkInteger("graceMs", graceMs, 0, MAX_GRACE_MS);
		this.#options = {
			lanes: options.lanes ?? ["default"],
			...(options.namespace === undefined ? undefined : { namespace: options.namespace }),
			capabilities: options.capabilities ?? [],
			concurrency,
			leaseMs,
			workerId: options.workerId ?? "worker",
			graceMs,
			handleSignals: options.handleSignals ?? true,
			log: options.log ?? quietLogger,
			clock: options.clock ?? systemClock,
		};
		this.#hooks = new Hooks(this.#options.log);
		this.#outage = new Outage(this.#options.clock, this.#options.log);
		this.#keeper = new LeaseKeeper({
			backend,
			clock: this.#options.clock,
			leaseMs,
			outage: this.#outage,
			jobs: () => this.#jobs.values(),
		});
		this.instanceId = options.instanceId ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
		const { namespace, lanes, workerId, capabilities, clock, log } = this.#options;
		this.#registration = new Registration({
			backend,
			clock,
			log,
			outage: this.#outage,
			instanceId: this.instanceId,
			isClaiming: () => this.#askedFor > 0,
			offer: () => ({
				workerId,
				...(namespace === undefined ? undefined : { namespace }),
				lanes,
				capabilities,
				kinds: [...this.#handlers.keys()],
			}),
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
		this.#loop = this.#claimLoop();
	}

	/** Stops claiming, lets handlers finish for `graceMs`, then aborts them and hands their executions back. */
	stop(options: { graceMs?: number } = {}): Promise<void> {
		if (options.graceMs !== undefined) checkInteger("graceMs", options.graceMs, 0, MAX_GRACE_MS);
		this.#stopped ??= this.#stop(options.graceMs ?? this.#options.graceMs);
		return this.#stopped;
	}

	async #stop(graceMs: number): Promise<void> {
		if (this.#state === "new" || this.#state === "starting") {
			this.#state = "stopped";
			this.#claiming.abort();
			return;
		}
		this.#state = "stopping";
		this.#claiming.abort();
		this.#madeRoom();
		const left = this.#registration.stop();
		await this.#loop;
		await this.#assistant;
		const finished = Promise.all([...this.#jobs.values()].map((job) => job.done));
		const grace = this.#pause(graceMs);
		await Promise.race([finished, grace.over]);
		grace.end();
		await Promise.all([...this.#jobs.values()].map((job) => job.handBack()));
		await left;
		this.#keeper.stop();
		for (const cleanUp of this.#cleanUp.splice(0)) cleanUp();
		this.#state = "stopped";
	}

	async #claimLoop(): Promise<void> {
		for (let setbacks = 0; this.#state === "running"; ) {
			setbacks = (await this.#claimAndBegin()) ? 0 : setbacks + 1;
			if (this.#state !== "running") return;
			if (setbacks > 0) await this.#setBack(setbacks);
			else if (this.#options.concurrency > 1) this.#assistant ??= this.#assist();
		}
	}

	/** Claims beside the loop for as long as that goes well; trouble is the loop's to wait out. */
	async #assist(): Promise<void> {
		while (this.#state === "running" && (await this.#claimAndBegin()));
		this.#assistant = undefined;
	}

	/** Claims once there is room, and begins what comes; false when that is not to be repeated at once. */
	async #claimAndBegin(): Promise<boolean> {
		const { clock } = this.#options;
		while (this.#state === "running" && this.#room() <= 0)
			await new Promise<void>((resolve) => this.#roomless.add(resolve));
		if (this.#state !== "running") return false;
		const askedAt = clock.monotonic();
		try {
			const brought = await this.#claim(MAX_CLAIM_WAIT_MS);
			if (this.#state === "running") this.#outage.answered("claiming");
			if (this.#state === "running") for (const claimed of brought) this.#begin(claimed);
			else await Promise.all(brought.map((claimed) => this.#handBack(claimed)));
			// Handlers start before more is asked for; what ends at once is then told with that question.
			await undefined;
			// Nothing, and at once: whoever answers so is not waiting for work, and must not be asked in a circle.
			return brought.length > 0 || clock.monotonic() - askedAt >= HASTY_MS;
		} catch (error) {
			if (this.#state === "running") this.#outage.failed("claiming", error);
			return false;
		}
	}

	async #setBack(setbacks: number): Promise<void> {
		const pause = this.#pause(backoff(setbacks - 1));
		this.#roomless.add(pause.end);
		await pause.over;
		this.#roomless.delete(pause.end);
	}

	/** Registers before the first claim, so that whoever counts on workers knows of this one when it takes work. */
	async #introduce(): Promise<ClaimedExecution[]> {
		await this.#registration.start();
		if (this.#state !== "starting") return [];
		try {
			return await this.#firstClaim();
		} catch (error) {
			await this.#registration.stop();
			throw error;
		}
	}

	/** Shows a bad option at once, not in a loop that only logs it; a store that is away just now is no bad option. */
	async #firstClaim(): Promise<ClaimedExecution[]> {
		try {
			return await this.#claim(0);
		} catch (error) {
			if (error instanceof FlowFabricError && error.retryable) {
				this.#outage.failed("claiming", error);
				return [];
			}
			throw error;
		}
	}

	async #claim(waitMs: number): Promise<ClaimedExecution[]> {
		const { namespace, lanes, leaseMs, workerId, capabilities, concurrency } = this.#options;
		const max = Math.min(MAX_CLAIM, this.#room(), Math.ceil(concurrency / CLAIMS_OUT));
		this.#askedFor += max;
		try {
			return await this.#backend.leases.claim(
				{
					...(namespace === undefined ? undefined : { namespace }),
					lanes,
					kinds: [...this.#handlers.keys()],
					...(capabilities.length > 0 ? { capabilities } : undefined),
					workerId,
					instanceId: this.instanceId,
					max,
					leaseMs,
					waitMs,
				},
				this.#claiming.signal,
				this.#claimingHow,
			);
		} catch (error) {
			this.#registration.doubt();
			throw error;
		} finally {
			this.#askedFor -= max;
		}
	}

	/**
	 * A handler that has returned frees its place at once, so that the next claim and the outcome go out together; but
	 * when outcomes cannot be told, claiming stops before more is held than could be run.
	 */
	#room(): number {
		const { concurrency } = this.#options;
		return Math.min(concurrency - this.#handling, 2 * concurrency - this.#jobs.size) - this.#askedFor;
	}

	#madeRoom(): void {
		if (this.#roomless.size === 0) return;
		const roomless = this.#roomless;
		this.#roomless = new Set();
		for (const goOn of roomless) goOn();
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
				this.#madeRoom();
			},
		});
		this.#jobs.set(claimed.id, job);
		this.#handling += 1;
		void job.done.then(() => {
			if (this.#jobs.get(claimed.id) === job) this.#jobs.delete(claimed.id);
			this.#madeRoom();
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

function checkInteger(field: string, value: number, low: number, high: number): void {
	if (Number.isInteger(value) && value >= low && value <= high) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must be an integer from ${low} to ${high}, got ${String(value)}`,
		details: { field },
	});
}

/** A handler that is none would be found out by every execution it is given, one after the other. */
function checkHandler(kind: unknown, handler: unknown): void {
	if (typeof kind !== "string" || kind.length < 1 || kind.length > 256) {
		throw new FlowFabricError("invalid_input", {
			message: `kind: must be a string of 1 to 256 characters, got ${typeof kind === "string" ? `${kind.length}` : typeof kind}`,
			details: { field: "kind" },
		});
	}
	checkFunction("handler", handler, ` of ${JSON.stringify(kind)}`);
}

function checkFunction(field: string, value: unknown, whose = ""): void {
	if (typeof value === "function") return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}${whose}: must be a function, got ${value === null ? "null" : typeof value}`,
		details: { field },
	});
}
