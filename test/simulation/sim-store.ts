import { MemoryPartition } from "../../src/store/memory/partition.ts";
import {
	type Batch,
	type CommitReply,
	type IndexEntry,
	type LogPosition,
	type Notice,
	type QueuePosition,
	type Store,
	StoreError,
	type Unit,
	type UnitResult,
} from "../../src/store/port.ts";
import type { Random } from "./random.ts";
import type { Host, World } from "./world.ts";

/** What can go wrong on the way, each with its probability. */
export interface NetworkFaults {
	requestLost: number;
	replyLost: number;
	requestRepeated: number;
	noticeLost: number;
	conflictInvented: number;
}

export const noFaults: NetworkFaults = {
	requestLost: 0,
	replyLost: 0,
	requestRepeated: 0,
	noticeLost: 0,
	conflictInvented: 0,
};

/** Of a hundred messages two are held up on the way. */
export const SOME_STALLS = 0.02;

/** Bugs a store can have, planted to see that the simulator finds them. */
export interface StoreBugs {
	checksOnlyWrites?: boolean;
	refusalsUnchecked?: boolean;
	versionsReused?: boolean;
	batchForgotten?: boolean;
	onlyLatestBatchKept?: boolean;
	timeUnchecked?: boolean;
	noTurns?: boolean;
	fenceApart?: boolean;
}

/** A partition that is watched by the checker and may carry planted bugs. */
export class SimPartition extends MemoryPartition {
	readonly #bugs: StoreBugs;
	/** The highest number of a batch seen, by engine. */
	readonly #latest = new Map<string, number>();
	/** Told of every unit that is applied, before it is. */
	onApplied: ((unit: Unit, time: number, engine: string) => void) | undefined;
	down = false;
	/** Takes nothing that starts work. */
	full = false;
	/** What came while it said nothing; undefined unless it hangs. */
	#held: (() => void)[] | undefined;

	constructor(index: number, bugs: StoreBugs) {
		super(index);
		this.#bugs = bugs;
	}

	get isHung(): boolean {
		return this.#held !== undefined;
	}

	/** From now on it says nothing, as a process that was stopped. */
	hang(): void {
		this.#held ??= [];
	}

	/** It goes on, with all that has come meanwhile. */
	wake(): void {
		const held = this.#held ?? [];
		this.#held = undefined;
		for (const arrive of held) arrive();
	}

	/** True when it will be done once the partition wakes. */
	holds(arrive: () => void): boolean {
		this.#held?.push(arrive);
		return this.isHung;
	}

	protected override recall(batch: Batch): CommitReply | undefined {
		if (this.#bugs.batchForgotten) return undefined;
		const latest = Math.max(batch.number, this.#latest.get(batch.engine) ?? 0);
		this.#latest.set(batch.engine, latest);
		if (this.#bugs.onlyLatestBatchKept && batch.number < latest) return { time: this.time, commit: 0, results: [] };
		return super.recall(batch);
	}

	protected override timeFits(at: number, time: number): boolean {
		return this.#bugs.timeUnchecked || super.timeFits(at, time);
	}

	protected override versionFor(key: string, commit: number): number {
		return this.#bugs.versionsReused ? this.read(key).version + 1 : super.versionFor(key, commit);
	}

	protected override lostOn(unit: Unit, engine: string, time: number, clock: number): UnitResult | undefined {
		const writes = new Set([...unit.put.map(({ key }) => key), ...unit.removed]);
		if (this.#bugs.refusalsUnchecked && writes.size === 0) return undefined;
		const seen = {
			...unit,
			...(this.#bugs.noTurns ? { wantsTurn: false } : undefined),
			...(this.#bugs.checksOnlyWrites && writes.size > 0
				? { expected: unit.expected.filter(([key]) => writes.has(key)) }
				: undefined),
			...(this.#bugs.fenceApart && unit.blobs.some(({ key }) => isChunk(key))
				? { expected: unit.expected.filter(([key]) => key.includes("/") || writes.has(key)) }
				: undefined),
		};
		const lost = super.lostOn(seen, engine, time, clock);
		if (!lost) this.onApplied?.(unit, time, engine);
		return lost;
	}
}

const isChunk = (key: string): boolean => /^ex_\w+\/f/.test(key);

export interface SimNetwork {
	world: World;
	random: Random;
	partitions: SimPartition[];
	faults: NetworkFaults;
	/** How likely a message takes twenty times as long as others. */
	stalls: number;
	/** The store's clock, which may jump. */
	clock: () => number;
	stores: Set<SimStore>;
	/** Told when an engine could not read who a namespace's workers are. */
	onRegistryUnread?: (namespace: string) => void;
	/** Told of every unit that is applied, and by which engine. */
	onApplied?: ((unit: Unit, engine: string) => void) | undefined;
}

const TIMEOUT_MS = 400;
/** How long a connection waits for a server that is there and says nothing. */
const HUNG_TIMEOUT_MS = 5000;

/** One engine's connection to the store: everything takes time, and may be lost, repeated or out of order. */
export class SimStore implements Store {
	readonly writesPerBatch: number;
	readonly inFlight: number;
	readonly shared = true;
	readonly #network: SimNetwork;
	readonly #host: Host;
	readonly #latencyMs: number;
	#listener: ((notice: Notice) => void) | undefined;
	#deaf = false;

	constructor(network: SimNetwork, host: Host, latencyMs: number) {
		this.#network = network;
		this.#host = host;
		this.#latencyMs = latencyMs;
		this.writesPerBatch = network.random.pick([1, 4, 64]);
		this.inFlight = network.random.pick([1, 2]);
		network.stores.add(this);
		host.onDeath(() => network.stores.delete(this));
	}

	get partitions(): number {
		return this.#network.partitions.length;
	}

	read(partition: number, keys: readonly string[]) {
		const answer = this.#ask(partition, (at, time) => ({ time, records: keys.map((key) => at.read(key)) }));
		const [kind, namespace] = keys[0]?.split(":") ?? [];
		return kind === "worker" ? this.#ofRegistry(namespace, answer) : answer;
	}

	readBlobs(partition: number, keys: readonly string[]) {
		return this.#ask(partition, (at, time) => ({ time, blobs: keys.map((key) => at.blobs.get(key)) }));
	}

	first(partition: number, queue: string, count: number, after?: QueuePosition) {
		const answer = this.#ask(partition, (at, time) => ({ time, entries: at.first(queue, count, after) }));
		const [kind, namespace] = queue.split(",");
		return kind === "workers" ? this.#ofRegistry(namespace, answer) : answer;
	}

	last(partition: number, queue: string, count: number) {
		return this.#ask(partition, (at, time) => ({ time, entries: at.last(queue, count) }));
	}

	queueSizes(partition: number, prefix: string) {
		return this.#ask(partition, (at, time) => ({ time, queues: at.queueSizes(prefix) }));
	}

	lastCommit(partition: number) {
		return this.#ask(partition, (at, time) => ({ time, commit: at.commits }));
	}

	queues(partition: number, prefix: string) {
		return this.#ask(partition, (at, time) => ({ time, queues: at.queueNames(prefix) }));
	}

	events(partition: number, log: string, owner: string | undefined, after: LogPosition | undefined, count: number) {
		return this.#ask(partition, (at, time) => ({ time, events: at.events(log, owner, after, count) }));
	}

	logs(partition: number) {
		return this.#ask(partition, (at, time) => ({ time, logs: [...at.logs.keys()].sort() }));
	}

	oldestForgotten(partition: number) {
		return this.#ask(partition, (at, time) => {
			const oldest = at.oldestForgotten();
			return { time, ...(oldest === undefined ? undefined : { at: oldest }) };
		});
	}

	trimEvents(partition: number, before: number) {
		return this.#ask(partition, (at, time) => ({ time, trimmed: at.trimEvents(before) }));
	}

	standing(partition: number, entries: readonly IndexEntry[]) {
		return this.#ask(partition, (at, time) => ({ time, standing: entries.map((entry) => at.stands(entry)) }));
	}

	scan(partition: number, cursor: string | undefined, count: number) {
		return this.#ask(partition, (at, time) => ({ time, ...at.scan(cursor, count) }));
	}

	scanBlobs(partition: number, cursor: string | undefined, count: number) {
		return this.#ask(partition, (at, time) => ({ time, ...at.scanBlobs(cursor, count) }));
	}

	commit(partition: number, batch: Batch): Promise<CommitReply> {
		const { random, faults, world } = this.#network;
		const apply = (at: SimPartition) => {
			const invented = random.chance(faults.conflictInvented) ? random.integer(0, batch.units.length - 1) : -1;
			const sent =
				invented < 0
					? batch
					: { ...batch, units: batch.units.map((unit, n) => (n === invented ? spoiled(unit) : unit)) };
			world.moment += 1;
			const { reply, notice } = at.commit(sent, this.#network.clock());
			if (notice) for (const store of this.#network.stores) store.#hear(notice);
			return reply;
		};
		const startsWork = batch.startsWork === true;
		const refuses = (at: SimPartition) => at.down || (at.full && startsWork);
		return this.#ask(partition, apply, refuses, random.chance(faults.requestRepeated) ? apply : undefined);
	}

	watch(partition: number, key: string): () => void {
		return this.#partition(partition).watches.add(key);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#listener = listener;
	}

	async close(): Promise<void> {
		this.#network.stores.delete(this);
	}

	/** The connection that notices come on is away for a while; when it is back, that is told. */
	loseNotices(ms: number): void {
		this.#deaf = true;
		this.#network.world.after(ms, () => {
			this.#deaf = false;
			for (let partition = 0; partition < this.partitions; partition++) {
				const gap: Notice = { partition, queues: [], changed: [], gap: true };
				this.#network.world.after(this.#latency(), () => this.#listener?.(gap), this.#host);
			}
		});
	}

	#ofRegistry<T>(namespace: string | undefined, answer: Promise<T>): Promise<T> {
		answer.catch(() => this.#network.onRegistryUnread?.(namespace ?? ""));
		return answer;
	}

	#hear(notice: Notice): void {
		if (this.#deaf || this.#network.random.chance(this.#network.faults.noticeLost)) return;
		this.#network.world.after(this.#latency(), () => this.#listener?.(notice), this.#host);
	}

	#latency(): number {
		const { random, stalls } = this.#network;
		return this.#latencyMs * (0.5 + random.next()) * (random.chance(stalls) ? 20 : 1);
	}

	#partition(partition: number): SimPartition {
		return this.#network.partitions[partition] as SimPartition;
	}

	#ask<T>(
		partition: number,
		question: (at: SimPartition, time: number) => T,
		refuses = (at: SimPartition) => at.down,
		again?: (at: SimPartition, time: number) => T,
	): Promise<T> {
		const { world, random, faults } = this.#network;
		const at = this.#partition(partition);
		return new Promise<T>((resolve, reject) => {
			const fail = (applied: "no" | "unknown", ms: number) =>
				world.after(ms, () => reject(new StoreError("the store did not answer", { applied })), this.#host);
			const arrive = () => {
				if (at.holds(arrive)) return void fail("unknown", HUNG_TIMEOUT_MS);
				// A connection that is refused says so; a reply that is lost says nothing.
				if (refuses(at)) return void fail("no", this.#latency());
				const answer = question(at, at.tell(this.#network.clock()));
				if (random.chance(faults.replyLost)) return void fail("unknown", TIMEOUT_MS);
				world.after(this.#latency(), () => resolve(answer), this.#host);
			};
			if (random.chance(faults.requestLost)) fail("unknown", TIMEOUT_MS);
			else world.after(this.#latency(), arrive);
			const repeat = () => at.holds(repeat) || refuses(at) || again?.(at, 0);
			if (again) world.after(this.#latency() + random.integer(0, 3 * TIMEOUT_MS), repeat);
		});
	}
}

/** A unit that cannot succeed: as if another engine had just changed what it read, and changed it back. */
function spoiled(unit: Unit): Unit {
	const [first, ...rest] = unit.expected;
	return first ? { ...unit, expected: [[first[0], -1], ...rest] } : unit;
}
