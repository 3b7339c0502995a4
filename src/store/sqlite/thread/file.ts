import type { Database } from "better-sqlite3";
import {
	type Batch,
	hasWrites,
	type IndexEntry,
	type LoggedEvent,
	type LogPosition,
	type QueuePosition,
} from "../../port.ts";
import { checkUp } from "./check-up.ts";
import { orOnDamage } from "./damage.ts";
import { type Committed, SqlitePartition } from "./partition.ts";
import { recordOf } from "./record-table.ts";
import * as sql from "./schema.ts";
import { Copier, type DatabaseCopy } from "./snapshot.ts";
import { type EventRow, prepareStatements, type RecordRow, type Statements } from "./statements.ts";
import { fromText, type Text, toText } from "./text.ts";

export interface Job {
	partition: number;
	batch: Batch;
}

/** A record as an earlier format left it is written anew, and where it is queued now. */
export interface Rewritten {
	key: string;
	/** Left out when it stays as it is. */
	doc?: string;
	places: { queue: string; score: number }[];
}

/** An open file. Whatever is asked of it is done at once; commits that come together share one wait for the disk. */
export class SqliteFile {
	/** The store's time, as told with the question at hand. */
	now = 0;
	readonly #db: Database;
	readonly #run: Statements;
	readonly #partitions: SqlitePartition[];
	readonly #discard: DatabaseCopy["discard"] | undefined;
	readonly #copier: Copier;
	readonly path: string;
	/** Set when a transaction failed: what is in memory may not be what is in the file. */
	#stale = false;

	constructor(db: Database, partitions: number, discard?: DatabaseCopy["discard"]) {
		this.#db = db;
		this.path = db.name;
		this.#run = prepareStatements(db);
		this.#partitions = Array.from(
			{ length: partitions },
			(_, index) => new SqlitePartition(index, this.#run, () => this.now),
		);
		this.#discard = discard;
		this.#copier = new Copier(db);
	}

	/** Versions and documents in turn. */
	read(partition: number, keys: readonly string[]) {
		return this.#answer(partition, (at) => {
			const found: (number | string)[] = [];
			for (const key of keys) {
				const { version, doc } = at.records.read(key);
				found.push(version, doc);
			}
			return { found };
		});
	}

	readBlobs(partition: number, keys: readonly string[]) {
		return this.#answer(partition, () => ({
			blobs: keys.map((key) => {
				const read = () => bytesIn(this.#run.selectBlob.get(partition, toText(key)));
				return keys.length > 1 ? orOnDamage(read, undefined) : read();
			}),
		}));
	}

	first(partition: number, queue: string, count: number, after?: QueuePosition) {
		return this.#answer(partition, () => {
			const rows = after
				? this.#run.firstEntriesAfter.all(partition, toText(queue), after.score, toText(after.key), count)
				: this.#run.firstEntries.all(partition, toText(queue), count);
			return { entries: rows.map(({ score, key }) => ({ score, key: fromText(key) })) };
		});
	}

	last(partition: number, queue: string, count: number) {
		return this.#answer(partition, () => ({
			entries: this.#run.lastEntries
				.all(partition, toText(queue), count)
				.map(({ score, key }) => ({ score, key: fromText(key) })),
		}));
	}

	queues(partition: number, prefix: string) {
		return this.#answer(partition, () => {
			const start = toText(prefix);
			// Names that are not well-formed are bytes, behind all text; a prefix may even cut a character in two.
			const found = [
				...this.#queueNames(partition, typeof start === "string" ? start : "", (name) => typeof name === "string"),
				...this.#queueNames(partition, Buffer.alloc(0), () => true),
			];
			return { queues: found.filter((name) => name.startsWith(prefix)).sort() };
		});
	}

	queueSizes(partition: number, prefix: string) {
		return this.#answer(partition, () => {
			const start = toText(prefix);
			const found = [
				...this.#sizesFrom(partition, typeof start === "string" ? start : "", prefix, "string"),
				...this.#sizesFrom(partition, Buffer.alloc(0), "", "object"),
			];
			const queues = found.filter(({ queue }) => queue.startsWith(prefix));
			return { queues: queues.sort((a, b) => (a.queue < b.queue ? -1 : 1)) };
		});
	}

	standing(partition: number, entries: readonly IndexEntry[]) {
		return this.#answer(partition, () => ({
			standing: entries.map(
				({ queue, score, key }) =>
					this.#run.selectEntry.get(partition, toText(queue), score, toText(key)) !== undefined,
			),
		}));
	}

	lastCommit(partition: number) {
		return this.#answer(partition, (at) => ({ commit: at.commits }));
	}

	events(partition: number, log: string, owner: string | undefined, after: LogPosition | undefined, count: number) {
		const { commit, index: place } = after ?? { commit: -1, index: 0 };
		return this.#answer(partition, () => {
			const rows =
				owner === undefined
					? this.#run.selectLog.all(partition, toText(log), commit, place, count)
					: this.#run.selectHistory.all({ partition, log: toText(log), owner: toText(owner), commit, place, count });
			return { events: rows.map((row) => loggedEvent(log, row)) };
		});
	}

	logs(partition: number) {
		return this.#answer(partition, () => {
			const logs: string[] = [];
			for (let log = this.#run.logAfter.get(partition, ""); log !== undefined; ) {
				logs.push(fromText(log));
				log = this.#run.logAfter.get(partition, log);
			}
			return { logs };
		});
	}

	oldestForgotten(partition: number) {
		return this.#answer(partition, () => {
			const at = this.#run.oldestOrphan.get(partition) ?? undefined;
			return at === undefined ? {} : { at };
		});
	}

	trimEvents(partition: number, before: number, most: number) {
		return this.#answer(partition, () => ({ trimmed: this.#run.trimOrphans.run(partition, before, most).changes }));
	}

	/** In the order of keys; a cursor is the last key of its page. */
	scan(partition: number, cursor: string | undefined, count: number) {
		const after = cursor === undefined ? "" : toText(cursor);
		return this.#answer(partition, ({ records: table }) => {
			const rows = orOnDamage((): RecordRow[] => this.#run.scanRecords.all(partition, after, count), undefined);
			const records = rows
				? rows.map((row) => recordOf(fromText(row.key), row))
				: // Keys stand in an index of their own: those whose documents are on a damaged page are still known.
					this.#run.scanKeys.all(partition, after, count).map((key) => table.read(fromText(key)));
			return { records, ...cursorBehind(records.at(-1)?.key, records.length === count) };
		});
	}

	scanBlobs(partition: number, cursor: string | undefined, count: number) {
		return this.#answer(partition, () => {
			const found =
				cursor === undefined
					? this.#run.scanBlobs.all(partition, count)
					: this.#run.scanBlobsAfter.all(partition, toText(cursor), count);
			const keys = found.map(fromText);
			return { keys, ...cursorBehind(keys.at(-1), keys.length === count) };
		});
	}

	/** All of them in one transaction: if it fails, none of them has happened. */
	commitAll(jobs: readonly Job[]): Committed[] {
		try {
			return this.#transact(jobs);
		} catch (error) {
			this.#undo();
			throw error;
		}
	}

	checkUp() {
		return checkUp(this.#db);
	}

	/** A copy in a file beside this one, gone when it is closed. */
	async copy(): Promise<SqliteFile> {
		const { db, discard } = await this.#copier.copy();
		return new SqliteFile(db, this.#partitions.length, discard);
	}

	/**
	 * A migration: from here to `finishRewriting` one transaction, so that a program that dies half-way leaves the file as
	 * it was. The index is built anew. Versions stay, since nobody who remembers one outlives the opening of the file.
	 */
	beginRewriting(): void {
		this.#db.exec("BEGIN EXCLUSIVE");
		this.#db.exec(sql.removeAllEntries);
		this.#db.exec(sql.removeAllSizes);
	}

	rewrite(partition: number, records: readonly Rewritten[]): void {
		for (const { key, doc, places } of records) {
			if (doc !== undefined) this.#run.rewriteRecord.run(toText(doc), partition, toText(key));
			this.#run.index.nextUnit();
			for (const { queue, score } of places) this.#run.index.add(partition, { queue, score, key });
		}
	}

	finishRewriting(format: number): void {
		this.#run.index.flush();
		this.#db.prepare(sql.setMeta).run("format", format);
		this.#db.exec("COMMIT");
		for (const partition of this.#partitions) partition.reload();
	}

	async close(): Promise<void> {
		if (!this.#discard) this.#saveTimes();
		this.#db.close();
		await this.#copier.close();
		await this.#discard?.();
	}

	/** If it can: a full disk or a damaged page keeps nobody from closing the file. Whoever opens it next has a clock too. */
	#saveTimes(): void {
		try {
			for (const partition of this.#partitions) partition.saveTime();
		} catch {
			if (this.#db.inTransaction) this.#db.exec("ROLLBACK");
		}
	}

	#answer<T extends object>(partition: number, question: (at: SqlitePartition) => T): T & { time: number } {
		const at = this.#at(partition);
		return { time: at.tell(), ...question(at) };
	}

	#at(partition: number): SqlitePartition {
		return this.#partitions[partition] as SqlitePartition;
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
			// One that is damaged would spoil all figures it is added to; `doctor` tells of it.
			if (Number.isSafeInteger(size) && size > 0) yield { queue: name, size };
		}
	}

	#transact(jobs: readonly Job[]): Committed[] {
		if (this.#stale) {
			for (const partition of this.#partitions) partition.reload();
			this.#stale = false;
		}
		const writes = jobs.some(({ batch }) => batch.units.some(hasWrites));
		if (writes) this.#run.begin.run();
		const committed = jobs.map(({ partition, batch }) => this.#at(partition).commit(batch));
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

function loggedEvent(log: string, row: EventRow): LoggedEvent {
	const { at, commit, place: index } = row;
	const event: LoggedEvent = { log, owner: fromText(row.owner), at, body: fromText(row.body), commit, index };
	const group = fromText(row.group);
	if (group !== "") event.group = group;
	return event;
}

/** A full page may be the last one: then one more comes, empty. */
const cursorBehind = (last: string | undefined, isFull: boolean): { cursor?: string } =>
	last !== undefined && isFull ? { cursor: last } : {};

/** A row that holds something else has no bytes: whoever reads them is told that they are missing. */
const bytesIn = (found: unknown): Uint8Array | undefined => (found instanceof Uint8Array ? found : undefined);
