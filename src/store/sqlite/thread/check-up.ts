import type { Database } from "better-sqlite3";
import type { CheckUp } from "../../port.ts";
import * as sql from "./schema.ts";

const SYNCHRONOUS = ["OFF", "NORMAL", "FULL", "EXTRA"];
const MOST_PROBLEMS = 20;

/** SQLite's own check of the whole file, and the settings that decide what survives a power cut. */
export function checkUp(db: Database): CheckUp {
	const pragma = (name: string) => db.pragma(name, { simple: true }) as string | number;
	const found = (db.pragma(`integrity_check(${MOST_PROBLEMS})`) as { integrity_check: string }[]).map(
		({ integrity_check }) => integrity_check,
	);
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
			...found.filter((line) => line !== "ok").map((line) => `integrity: ${line}`),
			...(synchronous === "FULL" || synchronous === "EXTRA"
				? []
				: [`synchronous is ${synchronous}: a power cut may lose what was accepted`]),
		],
	};
}
