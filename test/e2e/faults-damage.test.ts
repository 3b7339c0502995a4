import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FlowFabric, type FlowFabricError } from "../../src/index.ts";
import { Everything } from "./everything.ts";
import { ledgerOf } from "./everything-ledger.ts";

let folder: string;
let all: Everything;
beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-damage-"));
});
afterEach(async () => {
	await all.end();
	await rm(folder, { recursive: true });
});

/** Overwrites the page that holds a record, of a file that nobody has open. */
async function damage(file: string, key: string): Promise<void> {
	const db = new BetterSqlite3(file);
	const rowid = db.prepare("SELECT id FROM record WHERE key = ?").pluck().get(key) as number;
	const size = Number(db.pragma("page_size", { simple: true }));
	const leaves = db
		.prepare("SELECT pageno, ncell FROM dbstat WHERE name = 'record' AND pagetype = 'leaf' ORDER BY path")
		.all() as { pageno: number; ncell: number }[];
	const place = db.prepare("SELECT COUNT(*) FROM record WHERE id < ?").pluck().get(rowid) as number;
	db.close();
	let before = 0;
	const leaf = leaves.find(({ ncell }) => (before += ncell) > place);
	const handle = await open(file, "r+");
	await handle.write(Buffer.alloc(size, 0xab), 0, size, ((leaf?.pageno ?? 0) - 1) * size);
	await handle.close();
}

async function everyId(ff: FlowFabric): Promise<string[]> {
	const found: string[] = [];
	let cursor: string | undefined;
	do {
		const page = await ff.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
		for (const { id } of page.executions) found.push(id);
		cursor = page.nextCursor;
	} while (cursor !== undefined);
	return found;
}

test("every feature in use on a file with a damaged page: what it held is named, the rest goes on, a backup brings all back", {
	timeout: 300_000,
}, async () => {
	const file = join(folder, "store.db");
	const backup = join(folder, "backup.jsonl");
	all = await Everything.start({ url: `sqlite:${file}` });
	await all.flows(20);
	const { acknowledged, ...wrong } = await all.settle();
	expect(wrong).toEqual({ lost: [], doubled: [], stuck: [] });
	const first = all.asker;
	expect(await all.cli("backup", "--url", all.url, "--to", backup, "--keys")).toMatchObject({ code: 0 });

	await all.ask("b");
	await all.server.stop("SIGKILL");
	const ids = [...ledgerOf([first.out]).submitted.keys()];
	await damage(file, ids[Math.floor(ids.length / 2)] as string);
	await all.serve();
	await all.flows(20);

	// Each is either there, or refused by its name.
	const ff = FlowFabric.connect(all.url);
	const refused: string[] = [];
	for (const id of ids) {
		const refusal = await ff.get(id).catch((error: FlowFabricError) => error);
		if (!(refusal instanceof Error)) continue;
		expect(refusal).toMatchObject({ code: "corrupt_record", status: 500, details: { key: id } });
		refused.push(id);
	}
	expect(refused.length).toBeGreaterThan(0);
	// A list goes past them, and the log tells of what it lacks.
	const listed = new Set(await everyId(ff));
	await ff.close();
	expect(ids.filter((id) => !listed.has(id))).toEqual(refused);
	await all.server.says(new RegExp(`${refused[0]}.*a record cannot be read|a record cannot be read.*${refused[0]}`));
	all.asker.child.kill("SIGTERM");
	expect(await all.asker.ended()).toBe(0);
	expect(all.server.child.exitCode).toBe(null);
	await all.stop();
	const found = await all.doctor();
	expect(found.code).toBe(1);
	for (const id of refused) expect(found.out).toContain(`record ${id} in partition 0: cannot be read from the store`);

	all.store = `sqlite:${join(folder, "restored.db")}`;
	expect(await all.cli("import", backup, "--store", all.store)).toMatchObject({ code: 0 });
	await all.serve();
	const { acknowledged: restored, ...left } = await all.audit([first]);
	process.stdout.write(
		`a damaged page, every feature in use on sqlite: ${refused.length} of ${acknowledged} executions refused by name; from the backup ${restored} acknowledged, ${left.lost.length} lost, ${left.doubled.length} doubled, ${left.stuck.length} stuck\n`,
	);
	expect(left).toEqual({ lost: [], doubled: [], stuck: [] });
	expect(await all.server.stop("SIGTERM")).toBe(0);
	expect(await all.doctor()).toMatchObject({ code: 0, out: expect.stringContaining("Nothing is wrong.") });
});
