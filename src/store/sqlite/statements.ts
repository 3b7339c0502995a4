import type { Database, Statement } from "better-sqlite3";
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

export interface EventRow {
	commit: number;
	place: number;
	at: number;
	owner: Text;
	body: Text;
}

const EVENT_WIDTH = 6;

/** Everything a partition runs on its tables, prepared once per open file and shared by all partitions. */
export function prepareStatements(db: Database) {
	const column = <P extends unknown[], R>(source: string): Statement<P, R> => db.prepare<P, R>(source).pluck();
	return {
		begin: db.prepare("BEGIN IMMEDIATE"),
		commit: db.prepare("COMMIT"),

		selectHead: db.prepare<[number], { commits: number; time: number }>(sql.selectHead),
		updateHead: db.prepare<[number, number, number]>(sql.updateHead),
		selectBatches: db.prepare<[number], { engine: Text; number: number; reply: string }>(sql.selectBatches),
		saveBatch: db.prepare<[number, Text, number, number, string]>(sql.saveBatch),

		selectRecord: db.prepare<[number, Text], { version: number; doc: Text }>(sql.selectRecord),
		selectVersion: column<[number, Text], number>(sql.selectVersion),
		insertRecord: db.prepare<[number, Text, number, Text]>(sql.insertRecord),
		putRecord: db.prepare<[number, Text, number, Text]>(sql.putRecord),
		updateRecord: db.prepare<[number, Text, number, Text, number]>(sql.updateRecord),
		removeRecord: db.prepare<[number, Text]>(sql.removeRecord),
		removeRecordAt: db.prepare<[number, Text, number]>(sql.removeRecordAt),
		scanRecords: db.prepare<[number, number], RecordRow>(sql.scanRecords),
		scanRecordsAfter: db.prepare<[number, Text, number], RecordRow>(sql.scanRecordsAfter),

		index: new IndexChanges(db),
		firstEntries: db.prepare<[number, Text, number], EntryRow>(sql.firstEntries),
		firstEntriesAfter: db.prepare<[number, Text, number, Text, number], EntryRow>(sql.firstEntriesAfter),
		firstScore: column<[number, Text], number>(sql.firstScore),
		queueFrom: column<[number, Text], Text>(sql.queueFrom),
		queueAfter: column<[number, Text], Text>(sql.queueAfter),

		selectBlob: column<[number, Text], Buffer>(sql.selectBlob),
		putBlob: db.prepare<[number, Text, Uint8Array]>(sql.putBlob),
		removeBlob: db.prepare<[number, Text]>(sql.removeBlob),
		scanBlobs: column<[number, number], Text>(sql.scanBlobs),
		scanBlobsAfter: column<[number, Text, number], Text>(sql.scanBlobsAfter),

		newEvents: new RowBuffer(db, EVENT_WIDTH, sql.insertEvents),
		selectLog: db.prepare<[number, number, number, number], EventRow>(sql.selectLog),
		selectHistory: db.prepare<[number, Text, number, number, number], EventRow>(sql.selectHistory),
		orphanEvents: db.prepare<[number, Text]>(sql.orphanEvents),
		trimOrphans: db.prepare<[number, number, number]>(sql.trimOrphans),
	};
}

export type Statements = ReturnType<typeof prepareStatements>;
