import { existsSync } from "node:fs";
import { resolve } from "node:path";
import BetterSqlite3, { type Database } from "better-sqlite3";
import { StoreOpenError, type StoreOptions } from "../../port.ts";
import { SqliteFile } from "./file.ts";
import { openError } from "./open-error.ts";
import * as sql from "./schema.ts";
import { upgradeLayout } from "./upgrade-layout.ts";

const MAX_PARTITIONS = 256;

/** `StoreOptions`, as far as they can be told to a thread. */
export interface FileOptions extends Pick<StoreOptions, "partitions" | "mustExist"> {
	/** The format of the documents that will be written. */
	format: number;
	/** Whether time comes from a test. */
	testClock: boolean;
}

export interface OpenedFile {
	file: SqliteFile;
	partitions: number;
	/** The format of the documents in it: lower than asked for when they are still to be migrated. */
	format: number;
	/** The latest time it has ever told. */
	latestTold: number;
}

/**
 * Opens the file, or makes it. Whoever opens it owns it until it is closed or its process ends: SQLite holds the
 * operating system's lock on the file, which a killed process gives back. The file must never be opened in this process
 * by other means, not even to look at it: closing it again would drop that lock.
 */
export function openFile(path: string, options: FileOptions): OpenedFile {
	const file = resolve(path);
	checkCount(file, options.partitions);
	if (options.mustExist && !existsSync(file)) throw nothingThere(file);
	let db: Database | undefined;
	try {
		db = new BetterSqlite3(file, { timeout: 0 });
		db.pragma("locking_mode = EXCLUSIVE");
		db.exec("BEGIN EXCLUSIVE; COMMIT");
		return openDatabase(db, file, options);
	} catch (error) {
		db?.close();
		throw openError(file, error);
	}
}

/** The store in a database that this process has taken hold of, and not changed yet. */
export function openDatabase(db: Database, file: string, options: FileOptions): OpenedFile {
	const layout = recognise(db, file);
	const isNew = layout === undefined;
	if (isNew && options.mustExist) throw nothingThere(file);
	configure(db, isNew);
	if (isNew) create(db, options);
	const meta = db.prepare<[string], string | number>(sql.selectMeta).pluck();
	const partitions = Number(meta.get("partitions"));
	checkStored(file, "partitions", partitions, MAX_PARTITIONS);
	checkPartitions(file, partitions, options.partitions);
	checkClock(file, meta.get("clock") === "test", options.testClock);
	const format = Number(meta.get("format"));
	checkStored(file, "format", format, Number.MAX_SAFE_INTEGER);
	if (format > options.format) throw tooNew(file, "format", format, options.format);
	if (layout !== undefined) upgradeLayout(db, layout);
	for (let partition = 0; partition < partitions; partition++) checkHead(db, file, partition);
	const latestTold = db.prepare<[], number | null>(sql.selectLatestTime).pluck().get() ?? 0;
	return { file: new SqliteFile(db, partitions), partitions, format, latestTold };
}

/**
 * The layout of the tables, or undefined for a file nothing was written to yet; refuses what is not ours, before anything
 * in it is changed.
 */
function recognise(db: Database, file: string): number | undefined {
	const id = db.pragma("application_id", { simple: true });
	const layout = Number(db.pragma("user_version", { simple: true }));
	if (id === 0 && db.prepare(sql.countTables).pluck().get() === 0) return undefined;
	if (id !== sql.APPLICATION_ID) {
		throw new StoreOpenError("store_invalid", `${file}: is the database of another program; choose another file`, {
			path: file,
		});
	}
	if (layout > sql.LAYOUT) throw tooNew(file, "layout", layout, sql.LAYOUT);
	return layout;
}

/** How the file is written to; the benchmark's bare loop writes alike. */
export function configure(db: Database, isNew: boolean): void {
	if (isNew) db.pragma(`page_size = ${sql.PAGE_SIZE}`);
	db.pragma("journal_mode = WAL");
	db.pragma("synchronous = FULL");
	// On macOS a plain fsync does not reach the disk; elsewhere this changes nothing.
	db.pragma("fullfsync = ON");
	// 16 MB. A larger cache costs: SQLite goes over its whole table of pages at every commit (0.3 ms of it at 128 MB).
	db.pragma("cache_size = -16384");
	db.pragma(`wal_autocheckpoint = ${sql.CHECKPOINT_PAGES}`);
	// A migration may make the log large; afterwards it shrinks again.
	db.pragma("journal_size_limit = 67108864");
}

function create(db: Database, options: FileOptions): void {
	const partitions = options.partitions ?? 1;
	db.transaction(() => {
		db.exec(sql.createTables);
		const setMeta = db.prepare(sql.setMeta);
		setMeta.run("partitions", partitions);
		setMeta.run("format", options.format);
		setMeta.run("clock", options.testClock ? "test" : "system");
		const insertHead = db.prepare(sql.insertHead);
		for (let partition = 0; partition < partitions; partition++) insertHead.run(partition);
		db.pragma(`application_id = ${sql.APPLICATION_ID}`);
		db.pragma(`user_version = ${sql.LAYOUT}`);
	}).exclusive();
}

function checkCount(file: string, configured: number | undefined): void {
	if (configured === undefined) return;
	if (Number.isInteger(configured) && configured >= 1 && configured <= MAX_PARTITIONS) return;
	throw new StoreOpenError(
		"partition_mismatch",
		`${file}: partitions: must be an integer of 1 to ${MAX_PARTITIONS}, not ${configured}`,
		{ path: file, field: "partitions", configured },
	);
}

function checkStored(file: string, field: string, found: number, most: number): void {
	if (Number.isInteger(found) && found >= 1 && found <= most) return;
	throw damaged(file, field, `must be an integer of 1 to ${most} in the table meta, and is not`);
}

/** Commits that were counted before would be counted again: what they write would stand in the way of itself. */
function checkHead(db: Database, file: string, partition: number): void {
	const head = db.prepare<[number], { commits: unknown; time: unknown }>(sql.selectHead).get(partition);
	const where = `of partition ${partition}`;
	if (!head) throw damaged(file, "head", `the row ${where} is missing in the table head`);
	for (const field of ["commits", "time"] as const)
		if (!Number.isSafeInteger(head[field]) || Number(head[field]) < 0)
			throw damaged(file, field, `${where} must be an integer in the table head, and is not`);
	const logAfter = db.prepare<[number, unknown], string | Buffer>(sql.logAfter).pluck();
	const lastOfLog = db.prepare<[number, unknown], number>(sql.lastCommitOfLog).pluck();
	for (let log = logAfter.get(partition, ""); log !== undefined; log = logAfter.get(partition, log)) {
		const last = lastOfLog.get(partition, log) ?? 0;
		if (last <= Number(head.commits)) continue;
		throw damaged(file, "commits", `${where} are ${head.commits}, but there are events of commit ${last}`);
	}
}

const damaged = (file: string, field: string, problem: string): StoreOpenError =>
	new StoreOpenError("store_invalid", `${file}: is damaged: ${field}: ${problem}; restore a backup`, {
		path: file,
		field,
	});

function checkPartitions(file: string, stored: number, configured: number | undefined): void {
	if (configured === undefined || configured === stored) return;
	throw new StoreOpenError(
		"partition_mismatch",
		`${file}: partitions: the store has ${stored}, the configuration says ${configured}; leave it out to take the store's, or export and import to change it`,
		{ path: file, field: "partitions", stored, configured },
	);
}

function checkClock(file: string, stored: boolean, given: boolean): void {
	if (stored === given) return;
	const problem = stored
		? "was made by a test and keeps a test's time; it cannot be opened without testClock"
		: "keeps real time; it cannot be opened with testClock";
	throw new StoreOpenError("store_invalid", `${file}: ${problem}`, { path: file, field: "testClock" });
}

function nothingThere(file: string): StoreOpenError {
	return new StoreOpenError("store_unavailable", `${file}: there is no store here`, { path: file });
}

function tooNew(file: string, field: string, found: number, supported: number): StoreOpenError {
	return new StoreOpenError(
		"store_too_new",
		`${file}: was written by a later version: its ${field} is ${found}, this version knows ${field}s up to ${supported}; upgrade`,
		{ path: file, field, found, supported },
	);
}
