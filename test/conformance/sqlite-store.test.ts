import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { stateCode } from "../../src/kernel/records/state-code.ts";
import { blocked } from "../../src/kernel/state.ts";
import { type RecordFormat, type Store, StoreError, UNREADABLE } from "../../src/store/port.ts";
import { storeClock } from "../../src/store/sqlite/clock.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { openDatabase } from "../../src/store/sqlite/thread/open.ts";
import { format } from "./stores.ts";
import { entry, event, LOG, put, unit } from "./trial.ts";

let folder = "";
let file = "";
const testClock = (): number => 1000;

beforeEach(async () => {
	folder = await mkdtemp(join(tmpdir(), "flowfabric-"));
	file = join(folder, "store.db");
});

afterEach(async () => {
	vi.restoreAllMocks();
	await rm(folder, { recursive: true });
});

let number = 0;
const commit = (store: Store, units: ReturnType<typeof unit>[], partition = 0) =>
	store.commit(partition, { engine: "engine", number: ++number, at: 1000, units });

it("does nothing of a transaction that failed, and goes on", () => {
	const db = new BetterSqlite3(file);
	const { file: opened } = openDatabase(db, file, { format: format.format, testClock: true, partitions: 4 });
	opened.now = 1000;
	const job = (partition: number, given: ReturnType<typeof unit>) => ({
		partition,
		batch: { engine: "engine", number: ++number, at: 1000, units: [given] },
	});
	const [before] = opened.commitAll([job(0, put("a", "1"))]);
	db.pragma(`max_page_count = ${db.pragma("page_count", { simple: true })}`);
	const large = {
		...put("large", "x".repeat(1_000_000)),
		indexAdded: [entry("q", 1, "large")],
		events: [event("o", "e")],
	};
	expect(() => opened.commitAll([job(0, put("b", "1")), job(1, large), job(2, put("c", "1"))])).toThrow("full");
	expect(opened.read(0, ["b"]).found).toEqual([0, ""]);
	db.pragma("max_page_count = 1000000");
	expect(opened.commitAll([job(0, put("b", "1"))])[0]?.reply.commit).toBe((before?.reply.commit ?? 0) + 1);
	expect(opened.commitAll([job(1, large)])[0]?.reply.results).toEqual([{ ok: true }]);
	expect(opened.first(1, "q", 10).entries).toHaveLength(1);
	expect(opened.queueSizes(1, "").queues).toEqual([{ queue: "q", size: 1 }]);
	expect(opened.events(1, LOG, undefined, undefined, 10).events).toHaveLength(1);
	db.close();
});

it("says what became of a call when the file is damaged", async () => {
	const store = await openSqliteStore(file, { format, testClock });
	for (let n = 0; n < 100; n++) await commit(store, [put(`key-${n}`, "x".repeat(10_000))]);
	await store.close();
	const { size } = await stat(file);
	const handle = await open(file, "r+");
	await handle.write(Buffer.alloc(size / 2, 0xff), 0, size / 2, size / 4);
	await handle.close();
	const damaged = await openSqliteStore(file, { format, testClock });
	const { records } = await damaged.scan(0, undefined, 1000);
	expect(records).toHaveLength(100);
	const unreadable = records.filter(({ doc }) => doc === "");
	expect(unreadable.length).toBeGreaterThan(10);
	// What the others hold is what was written.
	expect(new Set(records.map(({ doc }) => doc.length))).toEqual(new Set([0, 10_000]));
	expect(new Set(unreadable.map(({ version }) => version))).toEqual(new Set([UNREADABLE]));
	const writes = Array.from({ length: 100 }, (_, n) => put(`key-${n}`, "y"));
	await expect(commit(damaged, writes)).rejects.toThrow(/^nothing was written: .*malformed/);
	await damaged.close().catch(() => undefined);
});

it("writes commits that wait when it is closed, and refuses later ones", async () => {
	const store = await openSqliteStore(file, { format, testClock });
	const sent = commit(store, [put("a", "1")]);
	await store.close();
	await store.close();
	expect((await sent).results).toEqual([{ ok: true }]);
	await expect(commit(store, [put("b", "1")])).rejects.toBeInstanceOf(StoreError);
	await expect(store.read(0, ["a"])).rejects.toMatchObject({ applied: "no" });
	const again = await openSqliteStore(file, { format, testClock });
	expect((await again.read(0, ["a"])).records).toMatchObject([{ doc: "1" }]);
	await again.close();
});

it("answers reads that wait when it is closed", async () => {
	const store = await openSqliteStore(file, { format, testClock });
	await commit(store, [put("a", "1")]);
	const onItsWay = store.read(0, ["a"]);
	await new Promise((resolve) => setImmediate(resolve));
	const waiting = store.read(0, ["a"]);
	const answers = Promise.all([onItsWay, waiting]);
	await store.close();
	for (const { records } of await answers) expect(records).toMatchObject([{ doc: "1" }]);
});

it("shows reads sent together one state", async () => {
	const store = await openSqliteStore(file, { format, testClock });
	let version = (await commit(store, [put("a", "0"), put("b", "0")])).commit;
	for (let n = 1; n < 20; n++) {
		const both = unit({
			expected: [
				["a", version],
				["b", version],
			],
			put: [
				{ key: "a", doc: `${n}` },
				{ key: "b", doc: `${n}` },
			],
		});
		const writing = commit(store, [both]);
		const [a, b] = await Promise.all([store.read(0, ["a"]), store.read(0, ["b"])]);
		expect(a.records[0]?.doc).toBe(b.records[0]?.doc);
		version = (await writing).commit;
	}
	await store.close();
});

it("brings documents and index of an earlier format up to date", async () => {
	const earlier: RecordFormat = { format: 1, migrate: (_, __, doc) => doc, indexOf: () => [] };
	const old = await openSqliteStore(file, { format: earlier, testClock, partitions: 2 });
	const versions: number[] = [];
	for (const partition of [0, 1]) {
		const units = Array.from({ length: 1200 }, (_, n) => ({
			...put(`key-${String(n).padStart(4, "0")}`, `${n}`),
			indexAdded: [entry("old", n, `key-${n}`)],
		}));
		versions.push((await commit(old, units, partition)).commit);
	}
	await old.close();
	const later: RecordFormat = {
		format: 3,
		migrate: (from, key, doc) => `${key} was ${doc} in ${from}`,
		indexOf: (key, doc) => (key === "key-0007" ? [{ queue: "new", score: doc.length }] : []),
	};
	for (let opening = 0; opening < 2; opening++) {
		const store = await openSqliteStore(file, { format: later, testClock });
		for (const partition of [0, 1]) {
			const { records } = await store.scan(partition, undefined, 2000);
			expect(records).toHaveLength(1200);
			expect(records[7]).toEqual({ key: "key-0007", version: versions[partition], doc: "key-0007 was 7 in 1" });
			expect((await store.queues(partition, "")).queues).toEqual(["new"]);
			expect((await store.queueSizes(partition, "")).queues).toEqual([{ queue: "new", size: 1 }]);
			expect((await store.first(partition, "new", 9)).entries).toEqual([{ score: 19, key: "key-0007" }]);
		}
		await store.close();
	}
	await expect(openSqliteStore(file, { format: earlier, testClock })).rejects.toMatchObject({ code: "store_too_new" });
});

it("gives work that was set aside under format 3 its queue timeout, which did not run then", async () => {
	const id = `ex_${"1".repeat(32)}_0`;
	const before = await openSqliteStore(file, { format: { ...format, format: 3 }, testClock });
	const state = stateCode(blocked("blocked_by_route", "waiting_for_capable_worker", "pending_first_attempt"));
	const policy = { timeouts: { queueMs: 500 } };
	await commit(before, [put(id, JSON.stringify({ kind: "job", createdAt: 1000, state, policy }))]);
	await before.close();
	const store = await openSqliteStore(file, { format, testClock });
	expect((await store.first(0, "due", 1)).entries).toEqual([{ score: 1500, key: id }]);
	await store.close();
});

it("leaves a store as it was when its format could not be brought up to date", async () => {
	const store = await openSqliteStore(file, { format, testClock });
	await commit(store, [{ ...put("a", "1"), indexAdded: [entry("q", 1, "a")] }, put("b", "bad")]);
	await store.close();
	const failing: RecordFormat = {
		format: format.format + 1,
		migrate(_, key, doc) {
			if (doc === "bad") throw new Error(`cannot read ${key}`);
			return "changed";
		},
		indexOf: () => [],
	};
	await expect(openSqliteStore(file, { format: failing, testClock })).rejects.toThrow("cannot read b");
	const again = await openSqliteStore(file, { format, testClock });
	expect((await again.read(0, ["a"])).records).toMatchObject([{ doc: "1" }]);
	expect((await again.first(0, "q", 1)).entries).toHaveLength(1);
	await again.close();
});

it("goes on from the latest time it told, though the machine's clock is behind", async () => {
	await (await openSqliteStore(file, { format, partitions: 2 })).close();
	const ahead = Date.now() + 3_600_000;
	const db = new BetterSqlite3(file);
	db.prepare("UPDATE head SET time = ? WHERE partition = 1").run(ahead);
	db.close();
	const store = await openSqliteStore(file, { format });
	for (const partition of [0, 1]) {
		const { time } = await store.read(partition, []);
		expect(time).toBeGreaterThanOrEqual(ahead);
		expect(time).toBeLessThan(ahead + 60_000);
	}
	await store.close();
});

it("keeps time while the wall clock is set back, and follows it ahead", () => {
	let wall = 1_000_000;
	let monotonic = 500;
	vi.spyOn(Date, "now").mockImplementation(() => wall);
	vi.spyOn(performance, "now").mockImplementation(() => monotonic);
	const clock = storeClock(0);
	expect(clock()).toBe(1_000_000);
	wall -= 60_000;
	monotonic += 250.5;
	expect(clock()).toBe(1_000_250);
	wall += 3_600_000;
	expect(clock()).toBe(wall);
	wall -= 10_000;
	monotonic += 10;
	expect(clock()).toBe(wall + 10_010);
});
