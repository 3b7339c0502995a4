import type { Database } from "better-sqlite3";
import type { CheckUp } from "../../port.ts";
import { orOnDamage } from "./damage.ts";
import * as sql from "./schema.ts";

const SYNCHRONOUS = ["OFF", "NORMAL", "FULL", "EXTRA"];
const MOST_PROBLEMS = 20;

/** SQLite's own check of the whole file, and the settings that decide what survives a power cut. */
export function checkUp(db: Database): CheckUp {
	const pragma = (name: string) => db.pragma(name, { simple: true }) as string | number;
	const meta = db.prepare<[string], string | number>(sql.selectMeta).pluck();
	const synchronous = SYNCHRONOUS[Number(pragma("synchronous"))] ?? "unknown";
	return {
		facts: {
			sqlite: String(db.prepare("SELECT sqlite_version()").pluck().get()),
			format: meta.get("format") ?? "unknown",
			layout: pragma("user_version"),
			journal: pragma("journal_mode"),
			synchronous,
		},
		bytes: Number(pragma("page_count")) * Number(pragma("page_size")),
		problems: [
			...damageIn(db),
			...sizeProblems(db),
			...(synchronous === "FULL" || synchronous === "EXTRA"
				? []
				: [`synchronous is ${synchronous}: a power cut may lose what was accepted`]),
		],
	};
}

/** What each table is for: that says more than its name. */
const HOLDS: Record<string, string> = {
	record: "records",
	blob: "bytes of payloads and streams",
	event: "events",
	entry: "the index",
	queue_size: "sizes of queues",
};

/** Table by table, as the check of one that is badly damaged breaks off. */
function damageIn(db: Database): string[] {
	return db
		.prepare<[], string>(sql.selectTables)
		.pluck()
		.all()
		.flatMap((table) => {
			const found = integrityOf(db, table).map((line) => `integrity of ${HOLDS[table] ?? table}: ${line}`);
			const left = found.length - MOST_PROBLEMS;
			return left > 0 ? [...found.slice(0, MOST_PROBLEMS), `… and ${left} more problems of ${table}`] : found;
		});
}

interface WrongSize {
	partition: number;
	queue: unknown;
	size: unknown;
	found: number;
}

function sizeProblems(db: Database): string[] {
	const wrong = orOnDamage(() => db.prepare<[], WrongSize>(sql.wrongSizes).all(), []);
	const told = wrong.slice(0, MOST_PROBLEMS).map(({ partition, queue, size, found }) => {
		return `the size of the queue ${queue} of partition ${partition} is ${size}, and should be ${found}`;
	});
	return wrong.length > told.length ? [...told, `… and ${wrong.length - told.length} more sizes of queues`] : told;
}

function integrityOf(db: Database, table: string): string[] {
	const lines: string[] = [];
	const check = db.prepare<[], string>(`PRAGMA integrity_check('${table}')`).pluck();
	const isWhole = orOnDamage(() => {
		for (const found of check.iterate()) for (const line of found.split("\n")) lines.push(line);
		return true;
	}, false);
	const told = lines.filter((line) => line !== "ok" && !line.startsWith("***"));
	return isWhole ? told : [...told, "the check broke off, as more of it is damaged"];
}
