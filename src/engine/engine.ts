import { type Clock, systemClock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { SLOTS, slotOfId } from "../kernel/ids.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { kernel as theKernel } from "../kernel/kernel.ts";
import { DUE_QUEUE, ELIGIBLE } from "../kernel/placement.ts";
import { ENGINES_SLOT } from "../kernel/records/engines.ts";
import type { Errand } from "../kernel/rules/tick.ts";
import { filterName, type ScannerFilter } from "../kernel/scanner-filter.ts";
import { EVENT_LOG, type Store } from "../store/port.ts";
import { ClaimDispatcher } from "./claims/claim-dispatcher.ts";
import { ClaimRequests } from "./claims/claim-requests.ts";
import { PausedLanes } from "./claims/paused-lanes.ts";
import { DutyLog } from "./duties/duty-log.ts";
import { LaneKeeper } from "./duties/lane-keeper.ts";
import { RouteKeeper } from "./duties/route-keeper.ts";
import { Scanners } from "./duties/scanners.ts";
import { TimerService } from "./duties/timer-service.ts";
import { Preferences } from "./fleet/preferences.ts";
import { type LiveEngine, Presence, type PresenceTimes } from "./fleet/presence.ts";
import { Registry } from "./fleet/registry.ts";
import { WorkerHeartbeats } from "./fleet/worker-heartbeats.ts";
import { WorkerLimit } from "./fleet/worker-limit.ts";
import { UuidMint } from "./mint.ts";
import { NameLimits } from "./name-limits.ts";
import { NoticeRouter } from "./notice-router.ts";
import type { EngineObserver } from "./observer.ts";
import type { BatchReport } from "./partition/batch-sender.ts";
import { PartitionRunner } from "./partition/partition-runner.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";
import { PartitionChooser } from "./partition-chooser.ts";
import { Throughput } from "./reading/throughput.ts";
import { Watchers } from "./watchers.ts";

export interface EngineOptions {
	store: Store;
	clock?: Clock;
	random?: () => number;
	kernel?: Kernel;
	/** Told of faults, one line each; nothing is printed otherwise. */
	onFault?: (fault: { about: string; error: unknown }) => void;
	cachedRecords?: number;
	/** How often what is not due at a time of its own is looked over (5 min). */
	sweepMs?: number;
	/** What the scanners of this engine are restricted to. Calls are served whoever they are about. */
	scannerFilter?: ScannerFilter;
	engineId?: string;
	/** How much of what it can create without end a namespace may have; tests make do with less. */
	limits?: Partial<Limits>;
	/** How this engine tells others on a shared store that it is there. */
	presence?: Partial<PresenceTimes>;
	/** Random hex digits for ids, given by the simulator. */
	randomHex?: (bytes: number) => string;
}

/** What a namespace may have at a time. */
export interface Limits {
	workers: number;
	lanes: number;
	kinds: number;
}

/** How many things an engine did, for metrics, benchmarks and tests. */
export interface EngineCounters {
	commands: number;
	units: number;
	commits: number;
	lost: number;
	/** The most often in a row that one command lost against other engines. */
	worstLosses: number;
}

const DEFAULT_CACHED_RECORDS = 20_000;
/** How soon it is said again that the store refuses changes. */
const REFUSED_AGAIN_MS = 60_000;

/**
 * The machinery of one engine: a runner, a timer and queue heads per partition, and one dispatcher for claims. It knows
 * how to run commands; `LocalBackend` knows which.
 */
export class Engine {
	readonly store: Store;
	readonly clock: Clock;
	readonly random: () => number;
	readonly kernel: Kernel;
	readonly runners: readonly PartitionRunner[];
	readonly dispatcher: ClaimDispatcher;
	readonly mint: UuidMint;
	readonly chooser: PartitionChooser;
	readonly lanes: LaneKeeper;
	readonly registry: Registry;
	readonly workerLimit: WorkerLimit;
	readonly nameLimits: NameLimits;
	readonly heartbeats: WorkerHeartbeats;
	readonly routes: RouteKeeper;
	readonly watchers = new Watchers();
	readonly counters: EngineCounters = { commands: 0, units: 0, commits: 0, lost: 0, worstLosses: 0 };
	readonly duties = new DutyLog();
	/** What its scanners are restricted to; undefined when they are not. */
	readonly scannerFilter: ScannerFilter | undefined;
	readonly throughput = new Throughput();
	readonly claimRequests: ClaimRequests;
	/** Told of every unit that was committed. */
	onCommitted: ((unit: UnitDraft) => void) | undefined;
	/** Counts what happens here; whoever wants metrics sets it. */
	observer: EngineObserver | undefined;
	readonly pausedLanes: PausedLanes;
	readonly #timers: TimerService;
	readonly #notices: NoticeRouter;
	readonly #scanners: Scanners;
	/** Absent on a store that nobody else can have open. */
	readonly #presence: Presence | undefined;
	readonly #preferences: Preferences;
	readonly #onFault: NonNullable<EngineOptions["onFault"]>;
	readonly #skippedFor = new Set<string>();
	#refusedAt = Number.NEGATIVE_INFINITY;
	#closed = false;

	constructor(options: EngineOptions) {
		this.store = options.store;
		this.clock = options.clock ?? systemClock;
		this.random = options.random ?? Math.random;
		this.kernel = options.kernel ?? theKernel;
		const scannerFilterName = options.scannerFilter ? filterName(options.scannerFilter) : "";
		this.scannerFilter = scannerFilterName === "" ? undefined : options.scannerFilter;
		const onFault = options.onFault ?? (() => {});
		this.#onFault = (fault) => {
			this.observer?.fault();
			onFault(fault);
		};
		const { partitions } = this.store;
		const idMint = new UuidMint(() => Date.now(), options.randomHex);
		const engineId = options.engineId ?? idMint.next();
		this.#preferences = new Preferences(engineId, partitions);
		this.runners = Array.from(
			{ length: partitions },
			(_, partition) =>
				new PartitionRunner({
					engineId,
					partition,
					store: this.store,
					kernel: this.kernel,
					clock: this.clock,
					random: this.random,
					cacheCapacity: Math.max(256, Math.floor((options.cachedRecords ?? DEFAULT_CACHED_RECORDS) / partitions)),
					vouches: (at, until) => this.#presence?.isKnown !== false && this.#timers.vouches(at, until),
					onQueued: (queue, at) => queue.startsWith(ELIGIBLE) && this.dispatcher.work.hasWork(at, queue),
					onCommitted: (unit, at) => this.#committed(unit, at),
					onAbandoned: (unit, at) => this.#abandoned(unit, at),
					onCorrupt: (key, why) => this.#onFault({ about: `record ${key} cannot be read: ${why}`, error: undefined }),
					onBatch: (batch) => this.#count(batch),
					onRefused: (error) => this.#refused(error),
				}),
		);
		this.mint = new UuidMint(() => this.now(), options.randomHex);
		this.chooser = new PartitionChooser(this.runners);
		this.lanes = new LaneKeeper(this.runners);
		this.registry = new Registry({ runners: this.runners, kernel: this.kernel, clock: this.clock });
		this.workerLimit = new WorkerLimit(this.registry, this.clock, options.limits?.workers);
		this.routes = new RouteKeeper({
			runners: this.runners,
			clock: this.clock,
			kernel: this.kernel,
			registry: this.registry,
			work: () => this.dispatcher.work,
			onFailure: (error) => this.#scanners.failed("unblock", "work nobody can serve could not be moved", error),
		});
		this.heartbeats = new WorkerHeartbeats({
			registry: this.registry,
			limit: this.workerLimit,
			clock: this.clock,
			onArrival: (namespace, capabilities) => this.routes.released(namespace, capabilities),
			onFailure: (error) => this.#scanners.failed("worker_expiry", "workers could not be kept registered", error),
		});
		const { runners, kernel, store, watchers } = this;
		this.pausedLanes = new PausedLanes({
			runners,
			kernel,
			store,
			watchers,
			onOpened: async (partition) => {
				if (!this.#closed) await this.dispatcher.work.lookAt([partition]);
			},
		});
		this.dispatcher = new ClaimDispatcher({
			runners: this.runners,
			clock: this.clock,
			mint: this.mint,
			shared: this.store.shared,
			preferred: (lane) => this.#preferences.inLane(lane),
			examine: (namespace, places) => this.routes.examine(namespace, places),
			onPaused: (partition, namespace, lane) => this.pausedLanes.found(partition, namespace, lane),
			onSkipped: (_, error) => this.#skipped(error),
		});
		this.nameLimits = new NameLimits({
			runners: this.runners,
			clock: this.clock,
			work: () => this.dispatcher.work,
			most: { lanes: options.limits?.lanes, kinds: options.limits?.kinds },
			onFailure: (error) => {
				if (!this.#closed) this.#onFault({ about: "the names in use could not be counted", error });
			},
		});
		this.claimRequests = new ClaimRequests(this.runners, this.dispatcher, this.kernel, this.mint);
		this.#timers = new TimerService({
			runners: this.runners,
			clock: this.clock,
			random: this.random,
			shared: this.store.shared,
			scannerFilter: this.scannerFilter,
			onPass: ({ startedAt, durationMs, items, done }) => {
				this.duties.ran("due", startedAt, durationMs, { items });
				for (const [duty, run] of done) this.duties.ran(duty, startedAt, durationMs, run);
			},
			onErrand: (errand) => this.#run(errand),
			onFailure: (key, error, parked) => {
				this.duties.failed("due");
				this.#onFault({ about: parked ? `${key} is parked` : key, error });
			},
		});
		const { work } = this.dispatcher;
		this.#notices = new NoticeRouter({ runners, clock: this.clock, work, timers: this.#timers, watchers });
		this.#scanners = new Scanners({
			engineId,
			runners: this.runners,
			kernel: this.kernel,
			clock: this.clock,
			routes: this.routes,
			duties: this.duties,
			scannerFilter: this.scannerFilter,
			sweepMs: options.sweepMs,
			own: () => this.#timers.own,
			now: () => this.now(),
			onChanged: (changed) => this.#notices.lookAnew(changed),
			onMended: (partition, entries) => this.#notices.mended(partition, entries),
			onFault: (about, error) => this.#onFault({ about, error }),
		});
		const meetingPlace = this.runners[ENGINES_SLOT % partitions];
		this.#presence =
			this.store.shared && meetingPlace
				? new Presence({
						engineId,
						scannerFilter: scannerFilterName,
						runner: meetingPlace,
						clock: this.clock,
						...(options.presence ? { times: options.presence } : undefined),
						claims: () => this.dispatcher.waiting.lanes(),
						onLive: (engines) => this.#shareWith(engines),
						onFailure: (error) => this.#onFault({ about: "other engines could not be told of this one", error }),
					})
				: undefined;
		this.store.onNotice((notice) => this.#notices.noticed(notice));
	}

	/** Hears every partition's time and starts its timers. */
	async start(): Promise<void> {
		const commits = await Promise.all(this.runners.map((runner) => runner.greet()));
		await this.#presence?.start();
		await this.dispatcher.work.lookEverywhere();
		this.#timers.look(this.runners.keys());
		this.#scanners.start(commits);
	}

	/** The partition of an id, or `invalid_input` naming the field. */
	partitionOf(id: string, field = "id"): number {
		const slot = slotOfId("ex", id);
		if (slot !== undefined) return slot % this.runners.length;
		throw new FlowFabricError("invalid_input", {
			message: `${field}: must be an execution id: ex_<32 hex>_<slot 0..${SLOTS - 1}>`,
			details: { field },
		});
	}

	/** The runner of whatever a slot belongs to. */
	runnerOfSlot(slot: number): PartitionRunner {
		return this.runner(slot % this.runners.length);
	}

	/** How many engines work on this store, and how many of its partitions this one runs the timers of. */
	get share(): { engines: number; partitions: number } {
		return { engines: this.#preferences.engines, partitions: this.#preferences.timers.length };
	}

	/** Items with a due time that were put aside because they kept failing. */
	get parked(): number {
		return this.#timers.parked;
	}

	/** The runner of a partition, for as long as the engine is open. */
	runner(partition: number): PartitionRunner {
		this.refuseIfClosed();
		const runner = this.runners[partition];
		if (!runner) throw new RangeError(`no partition ${partition}`);
		return runner;
	}

	/** True when nothing runs and nothing is due. */
	get idle(): boolean {
		return this.runners.every((runner) => runner.idle) && this.#timers.idle;
	}

	get closed(): boolean {
		return this.#closed;
	}

	refuseIfClosed(): void {
		if (this.#closed) throw new FlowFabricError("shutting_down");
	}

	fault(about: string, error: unknown): void {
		this.#onFault({ about, error });
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#notices.close();
		this.#scanners.close();
		this.heartbeats.close();
		this.routes.close();
		this.dispatcher.close();
		this.watchers.changedAll();
		await this.#timers.close();
		await this.#presence?.close();
		await Promise.all(this.runners.map((runner) => runner.close()));
		await this.store.close();
	}

	/** About the store's time: for ids, and to tell what lies absurdly far ahead. */
	now(): number {
		return this.runners[0]?.time.now() ?? 0;
	}

	#count(batch: BatchReport): void {
		this.counters.commits += 1;
		this.counters.commands += batch.commands;
		this.counters.units += batch.units;
		this.counters.lost += batch.lost;
		this.counters.worstLosses = Math.max(this.counters.worstLosses, batch.worstLosses);
		this.observer?.batch(batch);
	}

	#committed(unit: UnitDraft, partition: number): void {
		for (const { key, after } of unit.written) {
			for (const { queue, score } of after) {
				if (queue === DUE_QUEUE) this.#timers.expect(partition, score);
				else if (queue.startsWith(ELIGIBLE)) this.dispatcher.work.hasStored(partition, queue);
			}
			if (this.watchers.size > 0) this.watchers.changed(key);
		}
		if (unit.events.length > 0) {
			this.throughput.take(unit);
			if (this.watchers.size > 0) this.watchers.changed(EVENT_LOG);
		}
		this.onCommitted?.(unit);
		this.observer?.unit(unit);
	}

	/** Something a tick could not do in one partition. */
	async #run(errand: Errand): Promise<void> {
		await this.lanes.spread(errand.home);
	}

	/** Whoever looked while the unit was on its way may have found its queues empty. */
	#abandoned(unit: UnitDraft, partition: number): void {
		for (const { before } of unit.written) {
			for (const { queue } of before) if (queue.startsWith(ELIGIBLE)) this.dispatcher.work.hasStored(partition, queue);
		}
	}

	/** Counted every time, told of once for each kind of reason. */
	#skipped(error: unknown): void {
		this.observer?.skipped();
		const reason = String(error instanceof Error && error.cause ? error.cause : error).replace(/\d+/g, "#");
		if (this.#skippedFor.has(reason)) return;
		this.#skippedFor.add(reason);
		this.#onFault({ about: "partitions that cannot be read are passed over", error });
	}

	/** It befalls every call for as long as it lasts. */
	#refused(error: unknown): void {
		const now = this.clock.monotonic();
		if (now - this.#refusedAt < REFUSED_AGAIN_MS) return;
		this.#refusedAt = now;
		this.#onFault({ about: "the store refuses changes", error });
	}

	/** Engines that hear of each other share out; while they differ about who is there, some partitions have two or none. */
	#shareWith(engines: readonly LiveEngine[]): void {
		const someLeft = this.#preferences.misses(engines);
		if (!this.#preferences.update(engines)) return;
		this.#timers.assign(this.#preferences.timers);
		this.chooser.prefer(this.#preferences.newWork);
		// One that is gone may have vouched for what is due where it was no longer the one to run it.
		if (someLeft) this.#timers.look(this.#preferences.timers);
	}
}
