import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { unitOf } from "../../src/store/port.ts";
import { packBatch, unpackBatch } from "../../src/store/sqlite/packed-batch.ts";
import { SqliteThread } from "../../src/store/sqlite/sqlite-thread.ts";

let folder = "";

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
});

afterEach(async () => {
	await rm(folder, { recursive: true });
});

async function threadOf(program: string): Promise<SqliteThread> {
	const path = join(folder, "program.mjs");
	await writeFile(path, program);
	return new SqliteThread(path);
}

it.each([
	["ends", `import { parentPort } from "node:worker_threads"; parentPort.once("message", () => process.exit(3));`],
	[
		"fails",
		`import { parentPort } from "node:worker_threads"; parentPort.once("message", () => { throw new Error("no"); });`,
	],
])("a thread that %s leaves what was on its way in doubt, and takes no more", async (_, program) => {
	const thread = await threadOf(program);
	const batch = packBatch({ engine: "e", number: 1, at: 1, units: [] });
	await expect(thread.ask("commit", 1, 1, 0, batch)).rejects.toMatchObject({ name: "StoreError", applied: "unknown" });
	expect(thread.ended).toBe(true);
	await expect(thread.ask("read", 1, 1, 0, [])).rejects.toMatchObject({ name: "StoreError", applied: "no" });
});

it("a batch comes out of its packing as it went in", () => {
	const whole = unitOf({
		expected: [
			["a", 3],
			["\ud800", 0],
		],
		put: [{ key: "a", doc: "{}" }],
		removed: ["b", "c"],
		indexAdded: [{ queue: "q", key: "a", score: -1.5 }],
		indexRemoved: [{ queue: "p", key: "a", score: 2 }],
		events: [
			{ log: "l", owner: "a", at: 4, body: "x" },
			{ log: "m", owner: "a", group: "g", at: 5, body: "y" },
		],
		forgotten: [{ log: "l", owner: "b" }],
		blobs: [{ key: "k", bytes: new Uint8Array([1, 2]) }],
		blobsRemoved: ["j"],
		wantsTurn: true,
	});
	const batch = { engine: "e", number: 7, at: 9, units: [unitOf({}), whole, unitOf({ removed: ["d"] })] };
	for (const one of [batch, { ...batch, vouched: true }])
		expect(unpackBatch(structuredClone(packBatch(one)))).toEqual(one);
});
