import { setImmediate as nextTurn } from "node:timers/promises";
import type { Database } from "better-sqlite3";
import {
	type Batch,
	type CommitReply,
	hasWrites,
	type IndexEntry,
	type LogPosition,
	type Notice,
	type QueuePosition,
	type Snapshot,
	type Store,
	StoreError,
} from "../port.ts";
import { checkUp } from "./check-up.ts";
import { type Committed, SqlitePartition } from "./partition.ts";
import { copyDatabase } from "./snapshot.ts";
import { prepareStatements, type RecordRow, type Statements } from "./statements.ts";
import { fromText, type Text, toText } from "./text.ts";

/** Events let go at a time, so that a long trim does not hold up everything else. */
const TRIM_STEP = 1000;

interface Job {
	partition: SqlitePartition;
	batch: Batch;
	resolve: (reply: CommitReply) => void;
	reject: (error: StoreError) => void;
}

/**
 * A file that this process alone owns. Reads run at once, on the caller's thread. Commits that arrive in the same turn of
 * the event loop, whatever their partitions, share one transaction and one wait for the disk, and are answered after it.
 */
export class SqliteStore implements Store {
	/** A commit of 64 writes holds the event loop for about 1 ms, of 512 for 7; more are hardly cheaper each. */
	readonly writesPerBatch = 512;
	readonly shared = false;
	readonly #db: Database;
	readonly #run: Statements;
	readonly #clock: () => number;
	readonly #partitions: SqlitePartition[];
	#jobs: Job[] = [];
	#listeners: ((notice: Notice) => void)[] = [];
	/** Set when a transaction failed: what is in memory may not be what is in the file. */
	#stale = false;
	#closed = false;

	constructor(db: Database, partitions: number, clock: () => number) {
		this.#db = db;
		this.#run = prepareStatements(db);
		this.#clock = clock;
		this.#partitions = Array.from({ length: partitions }, (_, index) => new SqlitePartition(index, this.#run, clock));
	}

	get partitions(): number {
		return this.#partitions.length;
	}

	async read(partition: number, keys: readonly string[]) {
		return this.#ask(partition, (at) => ({ records: keys.map((key) => at.records.read(key)) }));
	}

	async readBlobs(partition: number, keys: readonly string[]) {
		return this.#ask(partition, () => ({ blobs: keys.map((key) => this.#run.selectBlob.get(partition, toText(key))) }));
	}

	async first(partition: number, queue: string, count: number, after?: QueuePosition) {
		return this.#ask(partition, () => {
			const rows = after
				? this.#run.firstEntriesAfter.all(partition, toText(queue), after.score, toText(after.key), count)
				: this.#run.firstEntries.all(partition, toText(queue), count);
			return { entries: rows.map(({ score, key }) => ({ score, key: fromText(key) })) };
		});
	}

	async queues(partition: number, prefix: string) {
		return this.#ask(partition, () => {
			const start = toText(prefix);
			// Names that are not well-formed are bytes, behind all text; a prefix may even cut a character in two.
			const found = [
				...this.#queueNames(partition, typeof start === "string" ? start : "", (name) => typeof name === "string"),
				...this.#queueNames(partition, Buffer.alloc(0), () => true),
			];
			return { queues: found.filter((name) => name.startsWith(prefix)).sort() };
		});
	}

	async last(partition: number, queue: string, count: number) {
		return this.#ask(partition, () => ({
			entries: this.#run.lastEntries
				.all(partition, toText(queue), count)
				.map(({ score, key }) => ({ score, key: fromText(key) })),
		}));
	}

	async queueSizes(partition: number, prefix: string) {
		return this.#ask(partition, () => {
			const start = toText(prefix);
			const found = [
				...this.#sizesFrom(partition, typeof start === "string" ? start : "", prefix, "string"),
				...this.#sizesFrom(partition, Buffer.alloc(0), "", "object"),
			];
			const queues = found.filter(({ queue }) => queue.startsWith(prefix));
			return { queues: queues.sort((a, b) => (a.queue < b.queue ? -1 : 1)) };
		});
	}

	async standing(partition: number, entries: readonly IndexEntry[]) {
		return this.#ask(partition, () => ({
			standing: entries.map(
				({ queue, score, key }) =>
					this.#run.selectEntry.get(partition, toText(queue), score, toText(key)) !== undefined,
			),
		}));
	}

	async lastCommit(partition: number) {
		return this.#ask(partition, (at) => ({ commit: at.commits }));
	}

	commit(partition: number, batch: Batch): Promise<CommitReply> {
		return new Promise((resolve, reject) => {
			this.#jobs.push({ partition: this.#at(partition), batch, resolve, reject });
			if (this.#jobs.length > 1) return;
			// With one partition there is nobody to wait for: it has one commit on its way at a time.
			if (this.partitions === 1) queueMicrotask(() => this.#commitAll());
			else setImmediate(() => this.#commitAll());
		});
	}

	async events(partition: number, owner: string | undefined, after: LogPosition | undefined, count: number) {
		const { commit, index } = after ?? { commit: -1, index: 0 };
		return this.#ask(partition, () => {
			const rows =
				owner === undefined
					? this.#run.selectLog.all(partition, commit, index, count)
					: this.#run.selectHistory.all(partition, toText(owner), commit, index, count);
			return {
				events: rows.map((row) => ({
					owner: fromText(row.owner),
					at: row.at,
					body: fromText(row.body),
					commit: row.commit,
					index: row.place,
				})),
			};
		});
	}

	async trimEvents(partition: number, before: number) {
		let trimmed = 0;
		for (;;) {
			const { time, step } = this.#ask(partition, () => ({
				step: this.#run.trimOrphans.run(partition, before, TRIM_STEP).changes,
			}));
			trimmed += step;
			if (step < TRIM_STEP) return { time, trimmed };
			await nextTurn();
		}
	}

	/** In the order of keys; a cursor is the last key of its page. */
	async scan(partition: number, cursor: string | undefined, count: number) {
		return this.#ask(partition, () => {
			const rows: RecordRow[] =
				cursor === undefined
					? this.#run.scanRecords.all(partition, count)
					: this.#run.scanRecordsAfter.all(partition, toText(cursor), count);
			const records = rows.map(({ key, version, doc }) => ({ key: fromText(key), version, doc: fromText(doc) }));
			return { records, ...cursorBehind(records.at(-1)?.key, records.length === count) };
		});
	}

	async scanBlobs(partition: number, cursor: string | undefined, count: number) {
		return this.#ask(partition, () => {
			const found =
				cursor === undefined
					? this.#run.scanBlobs.all(partition, count)
					: this.#run.scanBlobsAfter.all(partition, toText(cursor), count);
			const keys = found.map(fromText);
			return { keys, ...cursorBehind(keys.at(-1), keys.length === count) };
		});
	}

	watch(partition: number, key: string): () => void {
		return this.#at(partition).watches.add(key);
	}

	onNotice(listener: (notice: Notice) => void): void {
		this.#listeners.push(listener);
	}

	async checkUp() {
		return checkUp(this.#db);
	}

	/** A copy in a file beside this one, gone when it is let go of. */
	async snapshot(): Promise<Snapshot> {
		if (this.#closed) throw new StoreError("the store is closed", { applied: "no" });
		try {
			const { db, discard } = await copyDatabase(this.#db);
			return { store: new SqliteStore(db, this.partitions, this.#clock), discard };
		} catch (error) {
			throw new StoreError(`the file could not be copied: ${reason(error)}`, { applied: "no", cause: error });
		}
	}

	/** Commits that wait are written first. */
	async close(): Promise<void> {
		if (this.#closed) return;
		this.#commitAll();
		this.#closed = true;
		this.#listeners = [];
		try {
			for (const partition of this.#partitions) partition.saveTime();
		} finally {
			this.#db.close();
		}
	}

	#ask<T extends object>(partition: number, question: (at: SqlitePartition) => T): T & { time: number } {
		const at = this.#at(partition);
		try {
			return { time: at.tell(), ...question(at) };
		} catch (error) {
			throw new StoreError(`the file could not be read: ${reason(error)}`, { applied: "no", cause: error });
		}
	}

	#at(partition: number): SqlitePartition {
		if (this.#closed) throw new StoreError("the store is closed", { applied: "no" });
		const found = this.#partitions[partition];
		if (!found) throw new RangeError(`partition: must be 0 to ${this.partitions - 1}, not ${partition}`);
		return found;
	}

	*#queueNames(partition: number, start: string | Buffer, fits: (name: string | Buffer) => boolean) {
		let name = this.#run.queueFrom.get(partition, start);
		while (name !== undefined && fits(name) && (typeof start !== "string" || fromText(name).startsWith(start))) {
			yield fromText(name);
			name = this.#run.queueAfter.get(partition, name);
		}
	}

	/** Sizes from a name on, as long as names are of one kind of text and start as asked. */
	*#sizesFrom(partition: number, start: Text, prefix: string, kind: "string" | "object") {
		for (const { queue, size } of this.#run.sizesFrom.iterate(partition, start)) {
			const name = fromText(queue);
			if (typeof queue !== kind || !name.startsWith(prefix)) return;
			yield { queue: name, size };
		}
	}

	#commitAll(): void {
		const jobs = this.#jobs;
		if (jobs.length === 0) return;
		this.#jobs = [];
		let committed: Committed[];
		try {
			committed = this.#transact(jobs);
		} catch (error) {
			this.#undo();
			const failure = new StoreError(`nothing was written: ${reason(error)}`, { applied: "no", cause: error });
			for (const { reject } of jobs) reject(failure);
			return;
		}
		jobs.forEach(({ resolve }, n) => {
			resolve((committed[n] as Committed).reply);
		});
		for (const { notice } of committed) if (notice) for (const listener of this.#listeners) listener(notice);
	}

	#transact(jobs: Job[]): Committed[] {
		if (this.#stale) {
			for (const partition of this.#partitions) partition.reload();
			this.#stale = false;
		}
		const writes = jobs.some(({ batch }) => batch.units.some(hasWrites));
		if (writes) this.#run.begin.run();
		const committed = jobs.map(({ partition, batch }) => partition.commit(batch));
		if (writes) this.#run.commit.run();
		return committed;
	}

	#undo(): void {
		this.#stale = true;
		this.#run.index.drop();
		this.#run.newEvents.drop();
		this.#run.newRecords.drop();
		// SQLite has rolled back by itself after some errors, a full disk among them.
		if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
	}
}

/** A full page may be the last one: then one more comes, empty. */
const cursorBehind = (last: string | undefined, isFull: boolean): { cursor?: string } =>
	last !== undefined && isFull ? { cursor: last } : {};

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));
