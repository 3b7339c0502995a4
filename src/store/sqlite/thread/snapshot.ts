import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import BetterSqlite3, { type Database } from "better-sqlite3";
import { CHECKPOINT_PAGES } from "./schema.ts";

/** What SQLite may put beside a file it has open. */
const BESIDE = ["", "-wal", "-shm", "-journal"];
const CHUNK_BYTES = 1024 * 1024;

/** A copy of an open database in a file of its own, and how to be rid of it. */
export interface DatabaseCopy {
	db: Database;
	discard(): Promise<void>;
}

/**
 * Copies an open database to a file beside it while commits go on. Once everything in SQLite's log is in the file, commits
 * change nothing but the log as long as there is no checkpoint: so the file is copied as it stands, by other threads, and
 * nobody waits for it. SQLite's own backup keeps the thread until the whole copy has reached the disk.
 */
export class Copier {
	readonly #source: Database;
	/** Kept until the database is closed: closing it would drop SQLite's lock on the file. */
	#file: FileHandle | undefined;
	/** One after another: a checkpoint for the second would change the file below the first. */
	#last: Promise<unknown> = Promise.resolve();
	#closed = false;

	constructor(source: Database) {
		this.#source = source;
	}

	copy(): Promise<DatabaseCopy> {
		const next = this.#last.then(() => this.#make());
		this.#last = next.catch(() => {});
		return next;
	}

	/** To be called once the database is closed; a copy that is still being made fails. */
	async close(): Promise<void> {
		this.#closed = true;
		await this.#file?.close();
	}

	async #make(): Promise<DatabaseCopy> {
		const path = `${this.#source.name}.snapshot-${randomUUID()}`;
		const removeFiles = async () => {
			for (const ending of BESIDE) await rm(path + ending, { force: true });
		};
		let db: Database | undefined;
		try {
			await this.#copyTo(path);
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

	async #copyTo(path: string): Promise<void> {
		this.#file ??= await open(this.#source.name, "r");
		const target = await open(path, "wx");
		try {
			const bytes = this.#freeze();
			const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
			for (let at = 0; at < bytes; ) {
				const { bytesRead } = await this.#file.read(buffer, 0, Math.min(CHUNK_BYTES, bytes - at), at);
				if (bytesRead === 0) throw new Error(`${this.#source.name} ended after ${at} of ${bytes} bytes`);
				await target.write(buffer, 0, bytesRead, at);
				at += bytesRead;
			}
			if (this.#closed) throw new Error(`${this.#source.name} was closed while it was copied`);
		} finally {
			await target.close();
			if (!this.#closed) this.#source.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
		}
	}

	/** From here on the file stays as it is; how long it is. */
	#freeze(): number {
		if (this.#closed) throw new Error(`${this.#source.name} is closed`);
		const [result] = this.#source.pragma("wal_checkpoint(PASSIVE)") as { log: number; checkpointed: number }[];
		if (result?.log !== result?.checkpointed) throw new Error(`${this.#source.name}: its log could not be taken in`);
		this.#source.pragma("wal_autocheckpoint = 0");
		const pages = Number(this.#source.pragma("page_count", { simple: true }));
		return pages * Number(this.#source.pragma("page_size", { simple: true }));
	}
}
