import type { Database } from "better-sqlite3";
import type { RecordFormat } from "../port.ts";
import { IndexChanges } from "./index-changes.ts";
import * as sql from "./schema.ts";
import type { RecordRow } from "./statements.ts";
import { fromText, toText } from "./text.ts";

const PAGE = 500;

/**
 * Rewrites every document and builds the index anew, all in one transaction: a program that dies half-way leaves the
 * store as it was. Versions stay, since nobody who remembers one outlives the opening of the file.
 */
export function migrateRecords(db: Database, from: number, format: RecordFormat): void {
	const rewrite = db.prepare(sql.rewriteRecord);
	const index = new IndexChanges(db);
	db.transaction(() => {
		db.prepare(sql.removeAllEntries).run();
		db.prepare(sql.removeAllSizes).run();
		for (const { partition, key, doc } of allRecords(db)) {
			const migrated = format.migrate(from, key, doc);
			if (migrated !== doc) rewrite.run(toText(migrated), partition, toText(key));
			index.nextUnit();
			for (const { queue, score } of format.indexOf(key, migrated)) index.add(partition, { queue, score, key });
		}
		index.flush();
		db.prepare(sql.setMeta).run("format", format.format);
	}).exclusive();
}

/** Page by page: a document must not be rewritten while a statement is reading over it. */
function* allRecords(db: Database): Iterable<{ partition: number; key: string; doc: string }> {
	const first = db.prepare<[number, number], RecordRow>(sql.scanRecords);
	const next = db.prepare<[number, RecordRow["key"], number], RecordRow>(sql.scanRecordsAfter);
	const partitions = Number(db.prepare(sql.selectMeta).pluck().get("partitions"));
	for (let partition = 0; partition < partitions; partition++) {
		let page = first.all(partition, PAGE);
		while (page.length > 0) {
			for (const { key, doc } of page) yield { partition, key: fromText(key), doc: fromText(doc) };
			page = next.all(partition, (page.at(-1) as RecordRow).key, PAGE);
		}
	}
}
