import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { FlowFabric, type FlowFabricError } from "../../src/index.ts";
import { StoreError } from "../../src/store/port.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { PAGE_SIZE } from "../../src/store/sqlite/thread/schema.ts";
import { format } from "./stores.ts";
import { put } from "./trial.ts";

let folder = "";
let file = "";

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	file = join(folder, "store.db");
});

afterEach(async () => {
	await rm(folder, { recursive: true });
});

/** Overwrites part of the file, behind what is read to open it. */
async function damage(from: number, to: number): Promise<void> {
	const handle = await open(file, "r+");
	const pages = Math.floor((await handle.stat()).size / PAGE_SIZE);
	for (let page = Math.floor(pages * from); page < pages * to; page++)
		await handle.write(Buffer.alloc(PAGE_SIZE, 0xab), 0, PAGE_SIZE, page * PAGE_SIZE);
	await handle.close();
}

it("a damaged page found while the store is open is told as that, with the file and what to do", async () => {
	const clock = { format, testClock: () => 1000 };
	const store = await openSqliteStore(file, clock);
	const keys = Array.from({ length: 2000 }, (_, n) => `key-${String(n).padStart(4, "0")}`);
	const units = keys.map((key) => put(key, "x".repeat(500)));
	await store.commit(0, { engine: "e", number: 1, at: 1000, units });
	await store.close();
	const again = await openSqliteStore(file, clock);
	await damage(0.3, 0.7);
	const reads = await Promise.allSettled(keys.map((key) => again.scan(0, key, 1)));
	const failures = reads.flatMap((read) => (read.status === "rejected" ? [read.reason] : []));
	expect(failures.length).toBeGreaterThan(100);
	for (const failure of failures) {
		expect(failure).toBeInstanceOf(StoreError);
		expect(failure).toMatchObject({ code: "store_corrupt", applied: "no", passing: false });
		expect(failure.message).toMatch(/store\.db is damaged .*; stop the engine, run `flowfabric doctor`/);
	}
	const [whole] = reads.flatMap((read) => (read.status === "fulfilled" ? [read.value.records] : []));
	expect(whole).toHaveLength(1);
	const writing = keys.map((key) => put(key, "y", -1));
	const commit = again.commit(0, { engine: "e", number: 2, at: 1000, units: writing });
	await expect(commit).rejects.toMatchObject({ code: "store_corrupt", applied: "no" });
	await again.close().catch(() => {});
});

/** Either the record is named, or the file and what it should have there. */
function checked(refusal: FlowFabricError, id: string): string {
	expect(refusal).toMatchObject({ status: 500, retryable: false });
	if (refusal.code === "corrupt_record")
		expect(refusal.details).toMatchObject({ key: id, problem: expect.stringContaining("damaged") });
	else expect(refusal.message).toMatch(new RegExp(`${file} is damaged where it keeps .* of partition 0`));
	return refusal.code;
}

it("callers are told what is damaged, and that trying again is of no use", async () => {
	const before = await FlowFabric.open(`sqlite:${file}`);
	const items = Array.from({ length: 400 }, () => ({ kind: "job", input: "x".repeat(3000) }));
	const created = await before.backend.executions.createMany(items);
	await before.close();
	const ff = await FlowFabric.open(`sqlite:${file}`, { onFault: () => {} });
	await damage(0.2, 0.8);
	const { executions } = ff.backend;
	const codes = new Set<string>();
	let read = 0;
	for (const { id = "" } of created) {
		const outcomes = await Promise.allSettled([executions.get(id), executions.cancel(id)]);
		for (const outcome of outcomes) {
			if (outcome.status === "fulfilled") read += 1;
			else codes.add(checked(outcome.reason, id));
		}
	}
	expect(codes).toContain("corrupt_record");
	expect(read).toBeGreaterThan(20);
	await ff.close().catch(() => {});
});
