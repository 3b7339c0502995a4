import { existsSync } from "node:fs";
import { resolve } from "node:path";
import BetterSqlite3, { type Database } from "better-sqlite3";
import { type Store, StoreOpenError, type StoreOptions } from "../port.ts";
import { storeClock } from "./clock.ts";
import { migrateRecords } from "./migrate.ts";
import { openError } from "./open-error.ts";
import * as sql from "./schema.ts";
import { SqliteStore } from "./store.ts";

const MAX_PARTITIONS = 256;

/**
 * Opens the file, or makes it. Whoever opens it owns it until it is closed or its process ends: SQLite holds the
 * operating system's lock on the file, which a killed process gives back. The file must never be opened in this process
 * by other means, not even to look at it: closing it again would drop that lock.
 */
export async function openSqliteStore(path: string, options: StoreOptions): Promise<Store> {
	checkCount(resolve(path), options.partitions);
	const { file, db } = openFile(path, options.mustExist);
	try {
		return openStore(db, file, options);
	} catch (error) {
		db.close();
		throw openError(file, error);
	}
}

/** The store in a file that `openFile` has taken. */
export function openStore(db: Database, file: string, options: StoreOptions): SqliteStore {
	const isNew = recognise(db, file);
	if (isNew && options.mustExist) throw nothingThere(file);
	configure(db, isNew);
	if (isNew) create(db, options);
	const meta = db.prepare<[string], string | number>(sql.selectMeta).pluck();
	const partitions = Number(meta.get("partitions"));
	checkPartitions(file, partitions, options.partitions);
	checkClock(file, meta.get("clock") === "test", options.testClock !== undefined);
	checkFormat(db, file, Number(meta.get("format")), options);
	const latest = db.prepare<[], number | null>(sql.selectLatestTime).pluck().get() ?? 0;
	return new SqliteStore(db, partitions, options.testClock ?? storeClock(latest));
}

/** Takes hold of the file without changing it. */
export function openFile(path: string, mustExist = false): { file: string; db: Database } {
	const file = resolve(path);
	if (mustExist && !existsSync(file)) throw nothingThere(file);
	let db: Database | undefined;
	try {
		db = new BetterSqlite3(file, { timeout: 0 });
		db.pragma("locking_mode = EXCLUSIVE");
		db.exec("BEGIN EXCLUSIVE; COMMIT");
		return { file, db };
	} catch (error) {
		db?.close();
		throw openError(file, error);
	}
}

/** True for a file nothing was written to yet; refuses what is not ours, before anything in it is changed. */
function recognise(db: Database, file: string): boolean {
	const id = db.pragma("application_id", { simple: true });
	const layout = Number(db.pragma("user_version", { simple: true }));
	if (id === 0 && db.prepare(sql.countTables).pluck().get() === 0) return true;
	if (id !== sql.APPLICATION_ID) {
		throw new StoreOpenError("store_invalid", `${file}: is the database of another program; choose another file`, {
			path: file,
		});
	}
	if (layout > sql.LAYOUT) throw tooNew(file, "layout", layout, sql.LAYOUT);
	return false;
}

function configure(db: Database, isNew: boolean): void {
	if (isNew) db.pragma(`page_size = ${sql.PAGE_SIZE}`);
	db.pragma("journal_mode = WAL");
	db.pragma("synchronous = FULL");
	// On macOS a plain fsync does not reach the disk; elsewhere this changes nothing.
	db.pragma("fullfsync = ON");
	// 16 MB. A larger cache costs: SQLite goes over its whole table of pages at every commit (0.3 ms of it at 128 MB).
	db.pragma("cache_size = -16384");
	// 8 MB of log between checkpoints: with 32 MB a commit took as long, and the longest stalls about doubled.
	db.pragma("wal_autocheckpoint = 1000");
	// A migration may make the log large; afterwards it shrinks again.
	db.pragma("journal_size_limit = 67108864");
}

function create(db: Database, options: StoreOptions): void {
	const partitions = options.partitions ?? 1;
	db.transaction(() => {
		db.exec(sql.createTables);
		const setMeta = db.prepare(sql.setMeta);
		setMeta.run("partitions", partitions);
		setMeta.run("format", options.format.format);
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

function checkFormat(db: Database, file: string, stored: number, { format }: StoreOptions): void {
	if (stored > format.format) throw tooNew(file, "format", stored, format.format);
	if (stored < format.format) migrateRecords(db, stored, format);
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
