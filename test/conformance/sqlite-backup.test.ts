import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FlowFabric, importFile } from "../../src/index.ts";

let folder = "";
let url = "";
let ff: FlowFabric;

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	url = `sqlite:${join(folder, "store.db")}`;
	ff = await FlowFabric.open(url);
});

afterEach(async () => {
	await ff.close();
	await rm(folder, { recursive: true });
});

/** Files beside the store that are neither it nor its log. */
const leftovers = async () => (await readdir(folder)).filter((name) => !/^store\.db(-wal)?$/.test(name));

const submit = async (count: number): Promise<void> => {
	await ff.submitMany(Array.from({ length: count }, (_, n) => ({ kind: "job", input: "x".repeat(500 + n) })));
};

it("is the store as it was at one moment, whatever is written while it is read", async () => {
	await submit(1000);
	const lines: string[] = [];
	for await (const line of ff.backend.admin.backup()) {
		if (lines.push(line) % 100 === 0) await submit(20);
	}
	const of = (kind: string) => lines.filter((line) => line.startsWith(`{"${kind}"`)).length;
	expect([of("record"), of("event")]).toEqual([1000, 1000]);
	expect(await leftovers()).toEqual([]);
});

it("written to a file becomes a store again, with commits going on meanwhile", async () => {
	await submit(1000);
	const path = join(folder, "backup.jsonl");
	let backing = true;
	const writing = ff.backup(path).finally(() => (backing = false));
	while (backing) await submit(5);
	await writing;
	const copy = `sqlite:${join(folder, "copy.db")}`;
	const { records, events } = await importFile(path, copy, { partitions: 4 });
	expect(records).toBeGreaterThanOrEqual(1000);
	expect(events).toBe(records);
	const restored = await FlowFabric.open(copy);
	const { lanes } = await restored.lanes();
	expect(lanes[0]?.depth).toEqual({ waiting: records });
	await restored.close();
});

it("leaves no copy behind when its reader breaks off, or its store is closed", async () => {
	await submit(500);
	for await (const line of ff.backend.admin.backup()) {
		if (!line.includes('"record"')) continue;
		expect(await leftovers()).not.toEqual([]);
		break;
	}
	expect(await leftovers()).toEqual([]);
	const lines = ff.backend.admin.backup()[Symbol.asyncIterator]();
	const first = lines.next();
	await ff.close();
	await first.then(
		() => lines.return?.(),
		(error: unknown) => expect(error).toMatchObject({ code: "shutting_down" }),
	);
	expect(await leftovers()).toEqual([]);
});

it("does not write over a file, and leaves none that is incomplete", async () => {
	await submit(10);
	const path = join(folder, "backup.jsonl");
	await ff.backup(path);
	const before = await readFile(path, "utf8");
	await expect(ff.backup(path)).rejects.toMatchObject({ code: "EEXIST" });
	expect(await readFile(path, "utf8")).toBe(before);
	const failing = join(folder, "failing.jsonl");
	await ff.close();
	await expect(ff.backup(failing)).rejects.toMatchObject({ code: "shutting_down" });
	expect(await leftovers()).toEqual(["backup.jsonl"]);
});

it("two at once have all that was there when each was asked for", async () => {
	await submit(1000);
	const count = async () => {
		let records = 0;
		for await (const line of ff.backend.admin.backup()) records += Number(line.startsWith('{"record"'));
		return records;
	};
	const first = count();
	await submit(500);
	const second = count();
	let backing = true;
	const both = Promise.all([first, second]).finally(() => (backing = false));
	while (backing) await submit(50);
	const [one, two] = await both;
	expect(one).toBeGreaterThanOrEqual(1000);
	expect(two).toBeGreaterThanOrEqual(1500);
});

it("keeps other processes out of the store, as before it", async () => {
	await submit(10);
	await ff.backup(join(folder, "backup.jsonl"));
	const program = `import B from "better-sqlite3"; new B(process.argv[1], { timeout: 0 }).pragma("user_version")`;
	const args = ["--input-type=module", "-e", program, join(folder, "store.db")];
	await expect(promisify(execFile)(process.execPath, args)).rejects.toThrow("database is locked");
});

it("leaves a log that is taken into the file as before", async () => {
	const logBytes = async () => (await stat(join(folder, "store.db-wal"))).size;
	await ff.backup(join(folder, "backup.jsonl"));
	for (let n = 0; n < 40; n++) await submit(1000);
	expect(await logBytes()).toBeLessThan(32 * 1024 * 1024);
});
