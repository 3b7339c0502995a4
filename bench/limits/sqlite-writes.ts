import BetterSqlite3 from "better-sqlite3";
import type { Unit } from "../../src/store/port.ts";
import { IndexChanges } from "../../src/store/sqlite/thread/index-changes.ts";
import { configure } from "../../src/store/sqlite/thread/open.ts";
import { RowBuffer } from "../../src/store/sqlite/thread/row-buffer.ts";
import * as sql from "../../src/store/sqlite/thread/schema.ts";

const EVENT_WIDTH = 8;

/**
 * The limit of a SQLite store: the same rows into the same tables, in the same file system, with `synchronous=FULL`, in
 * transactions of about `group` records, by a loop that checks nothing and decides nothing. Seconds for all units.
 */
export function writeBare(file: string, units: readonly Unit[], group: number): number {
	const db = new BetterSqlite3(file);
	db.pragma("locking_mode = EXCLUSIVE");
	configure(db, true);
	db.exec(sql.createTables);
	const put = db.prepare(sql.putRecord);
	const remove = db.prepare(sql.removeRecord);
	const index = new IndexChanges(db);
	const events = new RowBuffer(db, EVENT_WIDTH, sql.insertEvents);
	const begin = db.prepare("BEGIN IMMEDIATE");
	const end = db.prepare("COMMIT");
	const groups = inGroups(units, group);
	let commit = 0;
	let place = 0;
	const startedAt = performance.now();
	for (const together of groups) {
		begin.run();
		commit += 1;
		place = 0;
		for (const unit of together) {
			for (const { key, doc } of unit.put) put.run(0, key, commit, doc);
			for (const key of unit.removed) remove.run(0, key);
			index.nextUnit();
			for (const entry of unit.indexRemoved) index.remove(0, entry);
			for (const entry of unit.indexAdded) index.add(0, entry);
			for (const { log, at, owner, group = "", body } of unit.events) {
				if (events.full) events.flush();
				events.add(0, log, commit, place++, at, owner, group, body);
			}
		}
		index.flush();
		events.flush();
		end.run();
	}
	const seconds = (performance.now() - startedAt) / 1000;
	db.close();
	return seconds;
}

function inGroups(units: readonly Unit[], size: number): Unit[][] {
	const groups: Unit[][] = [];
	let records = size;
	for (const unit of units) {
		if (records >= size) {
			groups.push([]);
			records = 0;
		}
		groups.at(-1)?.push(unit);
		records += unit.put.length + unit.removed.length;
	}
	return groups;
}

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
