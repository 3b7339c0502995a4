import type { Database } from "better-sqlite3";
import { placeOfEarlierEvent } from "../../earlier-events.ts";
import * as sql from "./schema.ts";
import { fromText, type Text, toText } from "./text.ts";

interface EarlierEvent {
	partition: number;
	commit: number;
	place: number;
	orphan: number;
	at: number;
	owner: Text;
	body: Text;
}

const PAGE = 1000;

/** Brings the tables of an earlier version up to this layout, whole or not at all. */
export function upgradeLayout(db: Database, layout: number): void {
	if (layout === sql.LAYOUT) return;
	db.transaction(() => {
		db.exec(sql.setAsideEvents);
		db.exec(sql.createEventTable);
		const insert = db.prepare(sql.insertEarlierEvent);
		for (const { partition, commit, place, orphan, at, owner, body } of earlierEvents(db)) {
			const { log, group = "" } = placeOfEarlierEvent(fromText(body));
			insert.run(partition, toText(log), commit, place, orphan, at, owner, toText(group), body);
		}
		db.exec(sql.dropEarlierEvents);
		db.pragma(`user_version = ${sql.LAYOUT}`);
	}).exclusive();
}

/** Page by page: nothing can be written while a statement is stepped through. */
function* earlierEvents(db: Database): Generator<EarlierEvent> {
	const select = db.prepare<[number, number, number, number], EarlierEvent>(sql.selectEarlierEvents);
	for (let last = { partition: -1, commit: 0, place: 0 }; ; ) {
		const page = select.all(last.partition, last.commit, last.place, PAGE);
		yield* page;
		const end = page.at(-1);
		if (!end || page.length < PAGE) return;
		last = end;
	}
}
