import BetterSqlite3 from "better-sqlite3";
import { Redis } from "iovalkey";
import { configure } from "../../src/store/sqlite/thread/open.ts";

/** Appends as plain as a store can make them. */
export interface BareAppends {
	count: number;
	/** A row each, that can be told apart. */
	rows: readonly Uint8Array[];
	/** Appends that a transaction writes together, as many as share a commit of ours. */
	perCommit: number;
}

/** A store that nothing but such appends is asked of. */
export interface BareStore {
	/** Seconds. */
	append(appends: BareAppends): Promise<number>;
	close(): Promise<void>;
}

/** Rows into a table without an index, in a file of the same kind, by a loop that checks nothing. */
export function bareSqlite(file: string): BareStore {
	const db = new BetterSqlite3(file);
	db.pragma("locking_mode = EXCLUSIVE");
	configure(db, true);
	db.exec("CREATE TABLE frame (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
	const insert = db.prepare("INSERT INTO frame (bytes) VALUES (?)");
	const begin = db.prepare("BEGIN IMMEDIATE");
	const end = db.prepare("COMMIT");
	return {
		async append({ count, rows, perCommit }) {
			const startedAt = performance.now();
			for (let n = 0; n < count; n += perCommit) {
				begin.run();
				for (let one = 0; one < Math.min(perCommit, count - n); one++) for (const row of rows) insert.run(row);
				end.run();
			}
			return (performance.now() - startedAt) / 1000;
		},
		async close() {
			db.close();
		},
	};
}

const APPEND = `#!lua name=bench_streams
redis.register_function('bench_append', function(keys, args) return redis.call('RPUSH', keys[1], unpack(args)) end)`;

/**
 * A list for each writer, by calls of a function that does nothing else. What several call in one turn of the loop is sent
 * together; for one alone that would only be a detour.
 */
export async function bareValkey(url: string, writers: number): Promise<BareStore> {
	const client = new Redis(url, { enableAutoPipelining: writers > 1 });
	await client.call("FUNCTION", "LOAD", "REPLACE", APPEND);
	const keys = Array.from({ length: writers }, (_, n) => `bare-frames:${n}`);
	return {
		async append({ count, rows }) {
			const elements = rows.map((row) => Buffer.from(row));
			let left = count;
			const appendTo = async (key: string) => {
				while (left-- > 0) await client.call("FCALL", "bench_append", "1", key, ...elements);
			};
			const startedAt = performance.now();
			await Promise.all(keys.map(appendTo));
			return (performance.now() - startedAt) / 1000;
		},
		async close() {
			await client.del(...keys);
			client.disconnect();
		},
	};
}
