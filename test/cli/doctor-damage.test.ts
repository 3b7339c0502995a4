import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { runHere } from "./stage.ts";

const COUNT = 1500;
let folder: string;
let file: string;
let backup: string;

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-damage-"));
	file = join(folder, "store.db");
	backup = join(folder, "backup.jsonl");
	const ff = await FlowFabric.open(`sqlite:${file}`);
	for (let n = 0; n < COUNT; n += 500)
		await ff.submitMany(Array.from({ length: 500 }, () => ({ kind: "job", input: "x".repeat(300) })));
	await ff.backup(backup);
	await ff.close();
});
afterEach(() => rm(folder, { recursive: true }));

/** Overwrites a leaf of the tree that holds these rows. */
async function damage(table: string): Promise<void> {
	const db = new BetterSqlite3(file);
	const leaves = db
		.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path")
		.pluck()
		.all(table) as number[];
	const size = Number(db.pragma("page_size", { simple: true }));
	db.close();
	const handle = await open(file, "r+");
	await handle.write(Buffer.alloc(size, 0xab), 0, size, ((leaves[Math.floor(leaves.length / 2)] ?? 2) - 1) * size);
	await handle.close();
}

const doctor = async (of = file) => {
	const { code, out } = await runHere(["doctor", "--store", `sqlite:${of}`, "--json"]);
	return { code, ...(JSON.parse(out) as { facts: Record<string, unknown>; problems: string[] }) };
};

test("records on a damaged page are named one by one, and all others are looked over", async () => {
	await damage("record");
	const { code, facts, problems } = await doctor();
	expect(code).toBe(1);
	const lost = Number(facts["corrupt records"]);
	expect(lost).toBeGreaterThan(2);
	expect(facts["records"]).toMatchObject({ execution: COUNT });
	expect(facts["executions"]).toEqual({ waiting: COUNT - lost });
	expect(problems.join("\n")).toMatch(/^integrity of records: .*page \d+/m);
	expect(problems.join("\n")).toMatch(
		/^record ex_\S+ in partition 0: cannot be read from the store, which is damaged/m,
	);
});

test("a damaged index is told of, and hides no record", async () => {
	await damage("entry");
	const { code, facts, problems } = await doctor();
	expect(code).toBe(1);
	expect(facts["executions"]).toEqual({ waiting: COUNT });
	expect(problems.join("\n")).toMatch(/^could not look over all of partition 0: .*store\.db is damaged where/m);
});

test("a backup of a damaged store is refused by the name of the record, and one made before brings all of it back", async () => {
	await damage("record");
	const late = join(folder, "late.jsonl");
	const refused = await runHere(["backup", "--store", `sqlite:${file}`, "--to", late]);
	expect(refused.code).not.toBe(0);
	expect(refused.err).toMatch(/the record ex_\S+ of partition 0 cannot be read/);
	const restored = join(folder, "restored.db");
	expect((await runHere(["import", backup, "--store", `sqlite:${restored}`])).code).toBe(0);
	expect(await doctor(restored)).toMatchObject({ code: 0, problems: [], facts: { executions: { waiting: COUNT } } });
});
