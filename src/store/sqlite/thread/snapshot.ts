import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import BetterSqlite3, { type Database } from "better-sqlite3";

/** What SQLite may put beside a file it has open. */
const BESIDE = ["", "-wal", "-shm", "-journal"];

/** A copy of an open database in a file of its own, and how to be rid of it. */
export interface DatabaseCopy {
	db: Database;
	discard(): Promise<void>;
}

/**
 * Copies an open database to a file beside it, a few pages at a time while commits go on; since those go through the
 * same connection, the copy follows them and is the database as it was when the last page was copied.
 */
export async function copyDatabase(source: Database): Promise<DatabaseCopy> {
	const path = `${source.name}.snapshot-${randomUUID()}`;
	const removeFiles = async () => {
		for (const ending of BESIDE) await rm(path + ending, { force: true });
	};
	let db: Database | undefined;
	try {
		await source.backup(path);
		db = new BetterSqlite3(path, { timeout: 0 });
		// Nobody else looks at it: without shared memory, and nothing in it is worth a wait for the disk.
		db.pragma("locking_mode = EXCLUSIVE");
		db.pragma("synchronous = OFF");
	} catch (error) {
		db?.close();
		await removeFiles();
		throw error;
	}
	const copy = db;
	return {
		db: copy,
		async discard() {
			copy.close();
			await removeFiles();
		},
	};
}
