import type { Batch, IndexEntry, LogPosition, Notice, QueuePosition, Store } from "../port.ts";
import { IN_FLIGHT } from "../recent-batches.ts";
import { MemoryPartition } from "./partition.ts";

/** Keeps nothing: for users' unit tests, and the floor every benchmark is held against. */
export class MemoryStore implements Store {
	readonly writesPerBatch = 1024;
	readonly inFlight = IN_FLIGHT;
	readonly shared: boolean;
	readonly #partitions: MemoryPartition[];
	readonly #clock: () => number;
	#listeners: ((notice: Notice) => void)[] = [];
	#hearers: ((text: string) => void)[] = [];

	constructor(partitions: number, clock: () => number, shared = false) {
		this.shared = shared;
		this.#partitions = Array.from({ length: partitions }, (_, index) => new MemoryPartition(index));
		this.#clock = clock;
	}

	get partitions(): number {
		return this.#partitions.length;
	}

	async read(partition: number, keys: readonly string[]) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), records: keys.map((key) => at.read(key)) };
	}

	async readBlobs(partition: number, keys: readonly string[]) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), blobs: keys.map((key) => at.blobs.get(key)) };
	}

	async first(partition: number, queue: string, count: number, after?: QueuePosition) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), entries: at.first(queue, count, after) };
	}

	async last(partition: number, queue: string, count: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), entries: at.last(queue, count) };
	}

	async queueSizes(partition: number, prefix: string) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), queues: at.queueSizes(prefix) };
	}

	async lastCommit(partition: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), commit: at.commits };
	}

	async queues(partition: number, prefix: string) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), queues: at.queueNames(prefix) };
	}

	async standing(partition: number, entries: readonly IndexEntry[]) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), standing: entries.map((entry) => at.stands(entry)) };
	}

	async commit(partition: number, batch: Batch) {
		const { reply, notice } = this.#at(partition).commit(batch, this.#clock());
		if (notice) for (const listener of this.#listeners) listener(notice);
		return reply;
	}

	async events(
		partition: number,
		log: string,
		owner: string | undefined,
		after: LogPosition | undefined,
		count: number,
	) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), events: at.events(log, owner, after, count) };
	}

	async logs(partition: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), logs: [...at.logs.keys()].sort() };
	}

	async oldestForgotten(partition: number) {
		const at = this.#at(partition);
		const oldest = at.oldestForgotten();
		return { time: at.tell(this.#clock()), ...(oldest === undefined ? undefined : { at: oldest }) };
	}

	async trimEvents(partition: number, before: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), trimmed: at.trimEvents(before) };
	}

	async scan(partition: number, cursor: string | undefined, count: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), ...at.scan(cursor, count) };
	}

	async scanBlobs(partition: number, cursor: string | undefined, count: number) {
		const at = this.#at(partition);
		return { time: at.tell(this.#clock()), ...at.scanBlobs(cursor, count) };
	}

	watch(partition: number, key: string): () => void {
		return this.#at(partition).watches.add(key);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#listeners.push(listener);
	}

	say(text: string): void {
		for (const listener of this.#hearers) listener(text);
	}

	onSaid(listener: (text: string) => void): void {
		this.#hearers.push(listener);
	}

	async close(): Promise<void> {
		this.#listeners = [];
		this.#hearers = [];
	}

	#at(partition: number): MemoryPartition {
		const found = this.#partitions[partition];
		if (!found) throw new RangeError(`no partition ${partition}`);
		return found;
	}
}
