import {
	type Batch,
	type CommitReply,
	type IndexEntry,
	type LogPosition,
	logSubject,
	type Notice,
	type QueuePosition,
	type Snapshot,
	type Store,
	StoreError,
} from "../port.ts";
import { IN_FLIGHT } from "../recent-batches.ts";
import { Watches } from "../watches.ts";
import { JointReads } from "./joint-reads.ts";
import type { Given, Question, Replied } from "./messages.ts";
import { packBatch } from "./packed-batch.ts";
import type { SqliteThread } from "./sqlite-thread.ts";

/** Events let go at a time, so that a long trim does not hold up everything else. */
const TRIM_STEP = 1000;

/** What is asked of one partition, named first. */
type PartitionQuestion = {
	[Q in Question]: Given<Q> extends [number, ...unknown[]] ? Q : never;
}[Question];

export interface SqliteStoreOptions {
	thread: SqliteThread;
	/** The file's number on that thread. */
	file: number;
	partitions: number;
	clock: () => number;
}

/** What is kept here of a partition. */
interface Place {
	readonly watches: Watches;
	readonly reads: JointReads;
}

/**
 * A file that this process alone owns, served by a thread of its own so that no wait for the disk holds up the program.
 * Time is told here and goes with every question.
 */
export class SqliteStore implements Store {
	/** Small enough that the next batch is made while one is written, large enough that the disk is waited for seldom. */
	readonly writesPerBatch = 128;
	readonly inFlight = IN_FLIGHT;
	readonly shared = false;
	readonly partitions: number;
	readonly #thread: SqliteThread;
	readonly #file: number;
	readonly #clock: () => number;
	readonly #places: readonly Place[];
	#listeners: ((notice: Notice) => void)[] = [];
	#closing: Promise<void> | undefined;

	constructor({ thread, file, partitions, clock }: SqliteStoreOptions) {
		this.#thread = thread;
		this.#file = file;
		this.partitions = partitions;
		this.#clock = clock;
		this.#places = Array.from({ length: partitions }, (_, partition) => ({
			watches: new Watches(),
			reads: new JointReads((keys) => thread.ask("read", file, clock(), partition, keys)),
		}));
	}

	async read(partition: number, keys: readonly string[]) {
		const { reads } = this.#at(partition);
		this.#checkOpen();
		return reads.read(keys);
	}

	readBlobs(partition: number, keys: readonly string[]) {
		return this.#ask("readBlobs", partition, keys);
	}

	first(partition: number, queue: string, count: number, after?: QueuePosition) {
		return this.#ask("first", partition, queue, count, after);
	}

	last(partition: number, queue: string, count: number) {
		return this.#ask("last", partition, queue, count);
	}

	queues(partition: number, prefix: string) {
		return this.#ask("queues", partition, prefix);
	}

	queueSizes(partition: number, prefix: string) {
		return this.#ask("queueSizes", partition, prefix);
	}

	standing(partition: number, entries: readonly IndexEntry[]) {
		return this.#ask("standing", partition, entries);
	}

	lastCommit(partition: number) {
		return this.#ask("lastCommit", partition);
	}

	events(partition: number, log: string, owner: string | undefined, after: LogPosition | undefined, count: number) {
		return this.#ask("events", partition, log, owner, after, count);
	}

	logs(partition: number) {
		return this.#ask("logs", partition);
	}

	oldestForgotten(partition: number) {
		return this.#ask("oldestForgotten", partition);
	}

	scan(partition: number, cursor: string | undefined, count: number) {
		return this.#ask("scan", partition, cursor, count);
	}

	scanBlobs(partition: number, cursor: string | undefined, count: number) {
		return this.#ask("scanBlobs", partition, cursor, count);
	}

	async commit(partition: number, batch: Batch): Promise<CommitReply> {
		const { watches } = this.#at(partition);
		this.#checkOpen();
		const { reply, notice } = await this.#thread.ask("commit", this.#file, this.#clock(), partition, packBatch(batch));
		const changed = watches.size > 0 ? changedOf(batch, reply, watches) : [];
		if (notice || changed.length > 0)
			this.#tell({ ...(notice ?? { partition, queues: [], time: reply.time }), changed });
		return reply;
	}

	async trimEvents(partition: number, before: number) {
		for (let total = 0; ; ) {
			const { time, trimmed } = await this.#ask("trimEvents", partition, before, TRIM_STEP);
			total += trimmed;
			if (trimmed < TRIM_STEP) return { time, trimmed: total };
		}
	}

	watch(partition: number, key: string): () => void {
		return this.#at(partition).watches.add(key);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#listeners.push(listener);
	}

	async checkUp() {
		this.#checkOpen();
		return this.#thread.ask("checkUp", this.#file, this.#clock());
	}

	/** A copy in a file beside this one, gone when it is let go of. */
	async snapshot(): Promise<Snapshot> {
		this.#checkOpen();
		const file = await this.#thread.ask("copy", this.#file, this.#clock());
		const { partitions } = this;
		const store = new SqliteStore({ thread: this.#thread, file, partitions, clock: this.#clock });
		return { store, discard: () => store.close() };
	}

	/** Commits on their way are written, and reads answered, first. */
	close(): Promise<void> {
		this.#listeners = [];
		for (const { reads } of this.#places) reads.send();
		this.#closing ??= this.#thread.ask("close", this.#file, this.#clock()) as Promise<void>;
		return this.#closing;
	}

	async #ask<Q extends PartitionQuestion>(question: Q, ...given: Given<Q>): Promise<Replied<Q>> {
		this.#at(given[0]);
		this.#checkOpen();
		// biome-ignore lint/plugin: as many as the question has, which is three or four
		return this.#thread.ask(question, this.#file, this.#clock(), ...given);
	}

	#tell(notice: Notice): void {
		for (const listener of this.#listeners) listener(notice);
	}

	#checkOpen(): void {
		if (this.#closing) throw new StoreError("the store is closed", { applied: "no" });
	}

	#at(partition: number): Place {
		const found = this.#places[partition];
		if (!found) throw new RangeError(`partition: must be 0 to ${this.partitions - 1}, not ${partition}`);
		return found;
	}
}

/** Watched records that a commit changed. */
function changedOf(batch: Batch, { results }: CommitReply, watches: Watches): string[] {
	const changed: string[] = [];
	batch.units.forEach((unit, n) => {
		if (!results[n]?.ok) return;
		for (const { key } of unit.put) if (watches.has(key)) changed.push(key);
		for (const key of unit.removed) if (watches.has(key)) changed.push(key);
		for (const { log } of unit.events) {
			const subject = logSubject(log);
			if (watches.has(subject) && !changed.includes(subject)) changed.push(subject);
		}
	});
	return changed;
}
