import { type Clock, systemClock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { slotOfGivenId } from "../contract/ids.ts";
import type { GrantView } from "../contract/replies.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { kernel as theKernel } from "../kernel/kernel.ts";
import { ELIGIBLE } from "../kernel/placement.ts";
import { CURSOR_KEY_SLOT } from "../kernel/records/cursor-key.ts";
import { ENGINES_SLOT } from "../kernel/records/engines.ts";
import type { ExecutionRecord } from "../kernel/records/execution.ts";
import { KEYRING_SLOT } from "../kernel/records/keyring.ts";
import { filterName, type ScannerFilter } from "../kernel/scanner-filter.ts";
import type { Errand } from "../kernel/ticking.ts";
import type { Store } from "../store/port.ts";
import { GuardService } from "./admission/guard-service.ts";
import { BlockedMover } from "./blocking/blocked-mover.ts";
import { RouteBlocker } from "./blocking/route-blocker.ts";
import { UnblockScanner } from "./blocking/unblock-scanner.ts";
import { ChangeRouter } from "./change-router.ts";
import { ClaimDispatcher } from "./claims/claim-dispatcher.ts";
import { ClaimRequests } from "./claims/claim-requests.ts";
import { PausedLanes } from "./claims/paused-lanes.ts";
import { grantRequests, leaseRequests } from "./claims/request-kinds.ts";
import { DutyLog } from "./duties/duty-log.ts";
import { ErrandQueue } from "./duties/errand-queue.ts";
import { LaneKeeper } from "./duties/lane-keeper.ts";
import type { TimerFailure } from "./duties/partition-timer.ts";
import { Scanners } from "./duties/scanners.ts";
import { TimerService } from "./duties/timer-service.ts";
import { type Fault, type FaultClass, FaultLog } from "./fault-log.ts";
import { Preferences } from "./fleet/preferences.ts";
import { type LiveEngine, Presence, type PresenceTimes } from "./fleet/presence.ts";
import { Registry } from "./fleet/registry.ts";
import { WorkerHeartbeats } from "./fleet/worker-heartbeats.ts";
import { WorkerLimit } from "./fleet/worker-limit.ts";
import { FlowGraphs } from "./flows/flow-graphs.ts";
import { UuidMint } from "./mint.ts";
import { NameLimits } from "./name-limits.ts";
import type { EngineObserver } from "./observer.ts";
import { OwnTurns } from "./own-turns.ts";
import type { BatchReport } from "./partition/batch-sender.ts";
import { PartitionRunner } from "./partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "./partition/store-line.ts";
import type { UnitDraft } from "./partition/unit-draft.ts";
import { PartitionChooser } from "./partition-chooser.ts";
import { Cursors } from "./reading/cursor.ts";
import { Throughput } from "./reading/throughput.ts";
import { StreamTails } from "./streams/stream-tails.ts";
import { CursorKey } from "./tokens/cursor-key.ts";
import { Keyring } from "./tokens/keyring.ts";
import { WaitpointTokens } from "./tokens/waitpoint-tokens.ts";
import { Watchers } from "./watchers.ts";
import { WriteProbe } from "./write-probe.ts";

export interface EngineOptions {
	store: Store;
	clock?: Clock;
	random?: () => number;
	kernel?: Kernel;
	/** Told of faults, at most once a minute of each class; nothing is printed otherwise. */
	onFault?: (fault: Fault) => void;
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
	/** Random hex digits for ids and secrets, given by the simulator. */
	randomHex?: (bytes: number) => string;
	/** Signs the tokens of waitpoints if the store has no keyring yet: hex digits of 32 to 128 bytes; drawn when left out. */
	waitpointSecretHex?: string;
	/** How long what a key signed is taken after another took its place (24 h). */
	waitpointGraceMs?: number;
	/** Where outsiders reach this engine's server, in front of callback URLs; these are paths alone without it. */
	publicUrl?: string;
}

/** What a namespace may have at a time. */
export interface Limits {
	workers: number;
	lanes: number;
	kinds: number;
	/** Budgets, and as many quotas. */
	guards: number;
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
const DEFAULT_GRACE_MS = 86_400_000;
/** Errands of a type that are under way at once, and that wait. */
const ERRANDS = { inFlight: 8, backlog: 256 };

/**
 * The machinery of one engine: a runner, a timer and queue heads per partition, and one dispatcher for claims. It knows
 * how to run commands; `LocalBackend` knows which.
 */
export class Engine {
	readonly store: Store;
	readonly clock: Clock;
	readonly ownTurns: OwnTurns;
	readonly random: () => number;
	readonly kernel: Kernel;
	readonly runners: readonly PartitionRunner[];
	/** Whether the store takes changes. */
	readonly writes: WriteProbe;
	readonly dispatcher: ClaimDispatcher;
	readonly mint: UuidMint;
	readonly chooser: PartitionChooser;
	readonly lanes: LaneKeeper;
	readonly registry: Registry;
	readonly workerLimit: WorkerLimit;
	readonly nameLimits: NameLimits;
	readonly flowGraphs = new FlowGraphs();
	/** Budgets and quotas. */
	readonly guards: GuardService;
	readonly heartbeats: WorkerHeartbeats;
	readonly routes: RouteBlocker;
	readonly watchers = new Watchers();
	readonly streamTails = new StreamTails();
	readonly counters: EngineCounters = { commands: 0, units: 0, commits: 0, lost: 0, worstLosses: 0 };
	readonly duties = new DutyLog();
	/** What its scanners are restricted to; undefined when they are not. */
	readonly scannerFilter: ScannerFilter | undefined;
	readonly throughput = new Throughput();
	readonly keyring: Keyring;
	/** Signs and checks the tokens of waitpoints. */
	readonly tokens: WaitpointTokens;
	/** Seals and opens the cursors of lists and logs. */
	readonly cursors: Cursors;
	readonly claimRequests: ClaimRequests<ExecutionRecord>;
	readonly grantRequests: ClaimRequests<GrantView>;
	/** Told of every unit that was committed. */
	onCommitted: ((unit: UnitDraft) => void) | undefined;
	/** Told of holders that hear of a breached budget by nothing else. */
	onBreach: ((record: ExecutionRecord) => void) | undefined;
	/** Counts what happens here; whoever wants metrics sets it. */
	observer: EngineObserver | undefined;
	readonly pausedLanes: PausedLanes;
	readonly #cursorKey: CursorKey;
	readonly #mover: BlockedMover;
	readonly #timers: TimerService;
	readonly #errands: ErrandQueue<Errand>;
	readonly #changes: ChangeRouter;
	readonly #scanners: Scanners;
	/** Absent on a store that nobody else can have open. */
	readonly #presence: Presence | undefined;
	readonly #preferences: Preferences;
	readonly #faults: FaultLog;
	readonly #engineId: string;
	#closed = false;

	/** From the inside out: partitions, what stands on them, claims, and what the engine does on its own. */
	constructor(options: EngineOptions) {
		this.store = options.store;
		this.clock = options.clock ?? systemClock;
		this.ownTurns = new OwnTurns(this.clock);
		this.random = options.random ?? Math.random;
		this.kernel = options.kernel ?? theKernel;
		this.#engineId = options.engineId ?? new UuidMint(() => Date.now(), options.randomHex).next();
		const scannerFilterName = options.scannerFilter ? filterName(options.scannerFilter) : "";
		this.scannerFilter = scannerFilterName === "" ? undefined : options.scannerFilter;
		this.#faults = new FaultLog({
			clock: this.clock,
			count: () => this.observer?.fault(),
			tell: options.onFault ?? (() => {}),
		});

		this.runners = this.#makeRunners(options.cachedRecords ?? DEFAULT_CACHED_RECORDS);
		this.writes = new WriteProbe(this.runners, this.clock);
		this.mint = new UuidMint(() => this.now(), options.randomHex);
		this.chooser = new PartitionChooser(this.runners);
		this.lanes = new LaneKeeper(this.runners);
		this.registry = new Registry({ runners: this.runners, kernel: this.kernel, clock: this.clock });
		this.workerLimit = new WorkerLimit(this.registry, this.clock, options.limits?.workers);
		this.guards = this.#makeGuards(options.limits?.guards);
		this.keyring = this.#makeKeyring(options);
		this.tokens = new WaitpointTokens(this.keyring, options.publicUrl ?? "");
		this.#cursorKey = this.#makeCursorKey(options);
		this.cursors = new Cursors(this.#cursorKey);
		this.#mover = this.#makeMover();
		this.routes = this.#makeRoutes();
		this.heartbeats = this.#makeHeartbeats();

		this.pausedLanes = this.#makePausedLanes();
		this.dispatcher = this.#makeDispatcher();
		this.nameLimits = this.#makeNameLimits(options.limits);
		const requests = { runners: this.runners, dispatcher: this.dispatcher, kernel: this.kernel, mint: this.mint };
		this.claimRequests = new ClaimRequests({ ...requests, kind: leaseRequests });
		this.grantRequests = new ClaimRequests({ ...requests, kind: grantRequests });

		this.#errands = new ErrandQueue<Errand>({
			spread_lane: { ...ERRANDS, run: ({ home }) => this.lanes.spread(home, PARTITION_PATIENCE_MS) },
			...this.guards.errands(ERRANDS),
		});
		this.#timers = this.#makeTimers();
		this.#changes = this.#makeChangeRouter();
		this.#scanners = this.#makeScanners(options.sweepMs);
		this.#preferences = new Preferences(this.#engineId, this.store.partitions);
		this.#presence = this.#makePresence(scannerFilterName, options.presence);
		this.store.onNotice((notice) => {
			this.#changes.noticed(notice);
			if (notice.gap) this.keyring.doubt();
		});
		this.store.onSaid?.((text) => {
			this.keyring.hear(text);
			this.#cursorKey.hear(text);
		});
	}

	#makeRunners(cachedRecords: number): PartitionRunner[] {
		const { store, kernel, clock, random } = this;
		const { partitions } = store;
		const cacheCapacity = Math.max(256, Math.floor(cachedRecords / partitions));
		const make = (partition: number): PartitionRunner =>
			new PartitionRunner({
				engineId: this.#engineId,
				partition,
				store,
				kernel,
				clock,
				random,
				cacheCapacity,
				vouches: (at, until) => this.#presence?.isKnown !== false && this.#timers.vouches(at, until),
				onQueued: (queue, at) => queue.startsWith(ELIGIBLE) && this.dispatcher.work.hasWork(at, queue),
				onCommitted: (unit, at) => this.#committed(unit, at),
				onAbandoned: (unit, at) => this.#changes.abandoned(unit, at),
				onCorrupt: (key, why) => this.fault("a record cannot be read", why, key),
				onBatch: (batch) => this.#count(batch),
				onRefused: (error) => this.#refused(partition, error),
			});
		return Array.from({ length: partitions }, (_, partition) => make(partition));
	}

	#makeMover(): BlockedMover {
		const { runners, kernel } = this;
		return new BlockedMover({
			runners,
			kernel,
			work: () => this.dispatcher.work,
			onFailure: (error) => this.#unblockFailed(error),
		});
	}

	#makeGuards(most: number | undefined): GuardService {
		return new GuardService({
			runners: this.runners,
			kernel: this.kernel,
			clock: this.clock,
			most,
			onFailure: (error) => this.#unblockFailed(error),
			nextUuid: () => this.mint.next(),
			onTold: (record) => this.onBreach?.(record),
		});
	}

	#makeKeyring({ waitpointSecretHex, waitpointGraceMs, randomHex }: EngineOptions): Keyring {
		return new Keyring({
			runner: this.runnerOfSlot(KEYRING_SLOT),
			kernel: this.kernel,
			clock: this.clock,
			secretHex: waitpointSecretHex,
			graceMs: waitpointGraceMs ?? DEFAULT_GRACE_MS,
			randomHex,
			say: (text) => this.store.say?.(text),
			onFault: (about, error, subject) => this.fault(about, error, subject),
		});
	}

	#makeCursorKey({ randomHex }: EngineOptions): CursorKey {
		return new CursorKey({
			runner: this.runnerOfSlot(CURSOR_KEY_SLOT),
			clock: this.clock,
			randomHex,
			say: (text) => this.store.say?.(text),
			onFault: (about, error, subject) => this.fault(about, error, subject),
		});
	}

	#unblockFailed(error: unknown): void {
		this.#scanners.failed("unblock", "blocked work could not be moved", error);
	}

	#makeRoutes(): RouteBlocker {
		const { runners, clock, registry } = this;
		const onFailure = (error: unknown) => this.#unblockFailed(error);
		return new RouteBlocker({ runners, clock, registry, mover: this.#mover, onFailure });
	}

	#makeHeartbeats(): WorkerHeartbeats {
		return new WorkerHeartbeats({
			registry: this.registry,
			limit: this.workerLimit,
			clock: this.clock,
			onArrival: (namespace, capabilities) => this.routes.released(namespace, capabilities),
			onFailure: (error) => this.#scanners.failed("worker_expiry", "workers could not be kept registered", error),
		});
	}

	#makePausedLanes(): PausedLanes {
		const { runners, kernel, store, watchers } = this;
		const onOpened = async (partition: number): Promise<void> => {
			if (!this.#closed) await this.dispatcher.work.lookAt([partition]);
		};
		return new PausedLanes({ runners, kernel, store, watchers, onOpened });
	}

	#makeDispatcher(): ClaimDispatcher {
		return new ClaimDispatcher({
			runners: this.runners,
			clock: this.clock,
			mint: this.mint,
			shared: this.store.shared,
			preferred: (lane) => this.#preferences.inLane(lane),
			examine: (namespace, places) => this.routes.examine(namespace, places),
			admissions: this.guards.admissions,
			random: this.random,
			onBlocked: (guard, records) => void this.guards.releaser.recheck(guard, records),
			onPaused: (partition, namespace, lane) => this.pausedLanes.found(partition, namespace, lane),
			onSkipped: (partition, error) => {
				this.observer?.skipped();
				this.fault("partitions that cannot be read are skipped", error, `partition ${partition}`);
			},
		});
	}

	#makeNameLimits({ lanes, kinds }: Partial<Limits> = {}): NameLimits {
		return new NameLimits({
			runners: this.runners,
			clock: this.clock,
			work: () => this.dispatcher.work,
			most: { lanes, kinds },
			onFailure: (error) => this.fault("the names in use could not be counted", error),
		});
	}

	#makeTimers(): TimerService {
		return new TimerService({
			runners: this.runners,
			clock: this.clock,
			random: this.random,
			shared: this.store.shared,
			scannerFilter: this.scannerFilter,
			onPass: ({ startedAt, durationMs, items, done }) => {
				this.duties.ran("due", startedAt, durationMs, { items });
				for (const [duty, run] of done) this.duties.ran(duty, startedAt, durationMs, run);
			},
			onErrand: (key, errand) => this.#errands.add(key, errand),
			onFailure: (failure) => this.#dueFailed(failure),
		});
	}

	#makeChangeRouter(): ChangeRouter {
		const { runners, clock, watchers } = this;
		return new ChangeRouter({ runners, clock, work: this.dispatcher.work, timers: this.#timers, watchers });
	}

	#makeScanners(sweepMs: number | undefined): Scanners {
		const { runners, kernel, clock, routes, duties, scannerFilter } = this;
		const { releaser } = this.guards;
		const unblock = new UnblockScanner({
			mover: this.#mover,
			scannerFilter,
			releases: {
				budget: (places, filter) => releaser.releaseFound("budget", places, filter),
				quota: (places, filter) => releaser.releaseFound("quota", places, filter),
				route: (places, filter) => routes.releaseFound(places, filter),
			},
		});
		return new Scanners({
			engineId: this.#engineId,
			runners,
			kernel,
			clock,
			unblock,
			duties,
			scannerFilter,
			sweepMs,
			own: () => this.#timers.own,
			now: () => this.now(),
			onChanged: (changed) => this.#changes.lookAnew(changed),
			onMended: (partition, entries) => this.#changes.mended(partition, entries),
			faults: this.#faults,
		});
	}

	/** Only where others can have the store open too. */
	#makePresence(scannerFilter: string, times: Partial<PresenceTimes> | undefined): Presence | undefined {
		const { store, clock, runners } = this;
		const runner = runners[ENGINES_SLOT % store.partitions];
		if (!store.shared || !runner) return undefined;
		return new Presence({
			engineId: this.#engineId,
			scannerFilter,
			runner,
			clock,
			...(times ? { times } : undefined),
			claims: () => this.dispatcher.waiting.lanes(),
			onLive: (engines) => this.#shareWith(engines),
			onFailure: (error) => this.fault("this engine could not announce itself to the others", error),
		});
	}

	/** Hears every partition's time and starts its timers. */
	async start(): Promise<void> {
		const commits = await Promise.all(this.runners.map((runner) => runner.greet()));
		await Promise.all([this.keyring.start(), this.#cursorKey.start()]);
		await this.#presence?.start();
		await this.dispatcher.work.lookEverywhere();
		this.#timers.look(this.runners.keys());
		this.#scanners.start(commits);
	}

	/** The partition of an id, or `invalid_input` naming the field. */
	partitionOf(id: string, field = "id"): number {
		return slotOfGivenId("ex", id, field) % this.runners.length;
	}

	/** The runner of a flow, or `invalid_input` naming the field. */
	runnerOfFlow(id: string, field = "id"): PartitionRunner {
		return this.runnerOfSlot(slotOfGivenId("fl", id, field));
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
		const { runners, guards, ownTurns } = this;
		const rest = this.#timers.idle && this.#errands.idle && guards.idle && ownTurns.idle;
		return rest && runners.every((runner) => runner.idle);
	}

	get closed(): boolean {
		return this.#closed;
	}

	refuseIfClosed(): void {
		if (this.#closed) throw new FlowFabricError("shutting_down");
	}

	/** Something went wrong that the engine survives; `subject` is what it befell. */
	fault(about: FaultClass, error: unknown, subject?: string): void {
		this.#faults.report(about, error, subject === undefined ? [] : [subject]);
	}

	async close(): Promise<void> {
		this.#closed = true;
		this.#changes.close();
		this.#scanners.close();
		this.routes.close();
		this.heartbeats.close();
		this.dispatcher.close();
		this.watchers.changedAll();
		this.#errands.close();
		await this.#timers.close();
		await this.#presence?.close();
		await Promise.all(this.runners.map((runner) => runner.close()));
		this.#faults.close();
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
		this.#changes.committed(unit, partition);
		this.guards.outbox.committed(unit);
		if (unit.events.length > 0) this.throughput.take(unit);
		this.onCommitted?.(unit);
		this.observer?.unit(unit);
	}

	#dueFailed({ partition, key, duty, error, isParked }: TimerFailure): void {
		this.duties.failed(duty ?? "due");
		if (key === undefined) this.fault("due items could not be seen to", error, `partition ${partition}`);
		else if (isParked) this.fault("items that keep failing are parked for a minute", error, key);
		else this.fault("a due item failed and will be retried", error, key);
	}

	/** It befalls every call for as long as it lasts. */
	#refused(partition: number, error: unknown): void {
		this.writes.refused(partition, error);
		this.fault("the store refuses changes", error, `partition ${partition}`);
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
