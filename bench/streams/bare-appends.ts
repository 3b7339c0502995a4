import BetterSqlite3 from "better-sqlite3";
import { Redis } from "iovalkey";
import { configure } from "../../src/store/sqlite/thread/open.ts";

/** Appends as plain as the store can make them. */
export interface BareAppends {
	/** How many rows, and what is in each. */
	count: number;
	bytes: Uint8Array;
	/** Rows that are written together, as many as share a commit of ours. */
	perCommit: number;
	/** Commits that are on their way at a time. */
	atATime: number;
}

/** Rows into a table without an index, in a file of the same kind, by a loop that checks nothing. Seconds. */
export function bareSqliteAppends(file: string, { count, bytes, perCommit }: BareAppends): number {
	const db = new BetterSqlite3(file);
	db.pragma("locking_mode = EXCLUSIVE");
	configure(db, true);
	db.exec("CREATE TABLE frame (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
	const insert = db.prepare("INSERT INTO frame (bytes) VALUES (?)");
	const begin = db.prepare("BEGIN IMMEDIATE");
	const end = db.prepare("COMMIT");
	const startedAt = performance.now();
	for (let n = 0; n < count; n += perCommit) {
		begin.run();
		for (let row = 0; row < Math.min(perCommit, count - n); row++) insert.run(bytes);
		end.run();
	}
	const seconds = (performance.now() - startedAt) / 1000;
	db.close();
	return seconds;
}

const APPEND = `#!lua name=bench_streams
redis.register_function('bench_append', function(keys, args)
	for n = 1, #args do redis.call('RPUSH', keys[1], args[n]) end
	return #args
end)`;

/** Elements of lists, each list by calls of a function that come one after the other; a list for each that is on its way. Seconds. */
export async function bareValkeyAppends(
	url: string,
	{ count, bytes, perCommit, atATime }: BareAppends,
): Promise<number> {
	const client = new Redis(url);
	await client.call("FUNCTION", "LOAD", "REPLACE", APPEND);
	const row = Buffer.from(bytes);
	let left = count;
	const append = async (key: string) => {
		while (left > 0) {
			const rows = Math.min(perCommit, left);
			left -= rows;
			await client.call("FCALL", "bench_append", "1", key, ...Array.from({ length: rows }, () => row));
		}
	};
	const keys = Array.from({ length: atATime }, (_, n) => `bare-frames:${n}`);
	const startedAt = performance.now();
	await Promise.all(keys.map(append));
	const seconds = (performance.now() - startedAt) / 1000;
	await client.del(...keys);
	client.disconnect();
	return seconds;
}
