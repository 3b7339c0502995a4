import type { Database } from "better-sqlite3";
import { IndexChanges } from "./index-changes.ts";
import { RowBuffer } from "./row-buffer.ts";
import * as sql from "./schema.ts";
import type { Text } from "./text.ts";

export interface RecordRow {
	key: Text;
	version: number;
	doc: Text;
}

export interface EntryRow {
	score: number;
	key: Text;
}

export interface SizeRow {
	queue: Text;
	size: number;
}

export interface EventRow {
	commit: number;
	place: number;
	at: number;
	owner: Text;
	group: Text;
	body: Text;
}

export interface HistoryRange {
	partition: number;
	log: Text;
	owner: Text;
	commit: number;
	place: number;
	count: number;
}

const RECORD_WIDTH = 4;
const EVENT_WIDTH = 8;

/** What is used of a prepared statement; the driver's own type cannot be named in declarations. */
interface Prepared<P extends unknown[], R> {
	run(...parameters: P): { changes: number };
	get(...parameters: P): R | undefined;
	all(...parameters: P): R[];
	iterate(...parameters: P): Iterable<R>;
}

/** Everything a partition runs on its tables, prepared once per open file and shared by all partitions. */
export function prepareStatements(db: Database) {
	const prepare = <P extends unknown[], R = unknown>(source: string): Prepared<P, R> =>
		db.prepare(source) as unknown as Prepared<P, R>;
	const column = <P extends unknown[], R>(source: string): Prepared<P, R> =>
		db.prepare(source).pluck() as unknown as Prepared<P, R>;
	return {
		begin: prepare<[]>("BEGIN IMMEDIATE"),
		commit: prepare<[]>("COMMIT"),

		selectHead: prepare<[number], { commits: number; time: number }>(sql.selectHead),
		updateHead: prepare<[number, number, number]>(sql.updateHead),

		selectRecord: prepare<[number, Text], { version: number; doc: Text }>(sql.selectRecord),
		selectVersion: column<[number, Text], number>(sql.selectVersion),
		newRecords: new RowBuffer(db, RECORD_WIDTH, sql.insertRecords),
		putRecord: prepare<[number, Text, number, Text]>(sql.putRecord),
		updateRecord: prepare<[number, Text, number, Text, number]>(sql.updateRecord),
		removeRecord: prepare<[number, Text]>(sql.removeRecord),
		removeRecordAt: prepare<[number, Text, number]>(sql.removeRecordAt),
		rewriteRecord: prepare<[Text, number, Text]>(sql.rewriteRecord),
		scanRecords: prepare<[number, Text, number], RecordRow>(sql.scanRecords),
		scanKeys: column<[number, Text, number], Text>(sql.scanKeys),

		index: new IndexChanges(db),
		firstEntries: prepare<[number, Text, number], EntryRow>(sql.firstEntries),
		firstEntriesAfter: prepare<[number, Text, number, Text, number], EntryRow>(sql.firstEntriesAfter),
		firstScore: column<[number, Text], number>(sql.firstScore),
		lastEntries: prepare<[number, Text, number], EntryRow>(sql.lastEntries),
		selectEntry: column<[number, Text, number, Text], number>(sql.selectEntry),
		sizesFrom: prepare<[number, Text], SizeRow>(sql.sizesFrom),
		queueFrom: column<[number, Text], Text>(sql.queueFrom),
		queueAfter: column<[number, Text], Text>(sql.queueAfter),

		selectBlob: column<[number, Text], Buffer>(sql.selectBlob),
		putBlob: prepare<[number, Text, Uint8Array]>(sql.putBlob),
		removeBlob: prepare<[number, Text]>(sql.removeBlob),
		scanBlobs: column<[number, number], Text>(sql.scanBlobs),
		scanBlobsAfter: column<[number, Text, number], Text>(sql.scanBlobsAfter),

		newEvents: new RowBuffer(db, EVENT_WIDTH, sql.insertEvents),
		selectLog: prepare<[number, Text, number, number, number], EventRow>(sql.selectLog),
		selectHistory: prepare<[HistoryRange], EventRow>(sql.selectHistory),
		logAfter: column<[number, Text], Text>(sql.logAfter),
		orphanEvents: prepare<[number, Text]>(sql.orphanEvents),
		leaveGroup: prepare<[number, Text]>(sql.leaveGroup),
		oldestOrphan: column<[number], number | null>(sql.oldestOrphan),
		trimOrphans: prepare<[number, number, number]>(sql.trimOrphans),
	};
}

export type Statements = ReturnType<typeof prepareStatements>;
