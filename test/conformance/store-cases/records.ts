import { expect } from "vitest";
import { type Case, check, entry, event, gone, put, remove, type Trial, unit } from "../trial.ts";

const lost = { ok: false };

/** Changes of every kind beside the records; none may be seen when the unit is lost. */
const sideEffects = {
	indexAdded: [entry("q", 1, "side")],
	indexRemoved: [entry("kept", 1, "kept")],
	events: [event("owner", "side")],
	forgotten: gone("kept"),
	blobs: [{ key: "side", bytes: Buffer.from("side") }],
	blobsRemoved: ["kept"],
};

async function withThingsToKeep(trial: Trial): Promise<number> {
	return trial.apply([
		unit({
			put: [
				{ key: "a", doc: "a1" },
				{ key: "b", doc: "b1" },
			],
			indexAdded: [entry("kept", 1, "kept")],
			events: [event("kept", "kept")],
			blobs: [{ key: "kept", bytes: Buffer.from("kept") }],
		}),
	]);
}

async function expectThingsKept(trial: Trial): Promise<void> {
	expect(await trial.keys("q")).toEqual([]);
	expect(await trial.keys("kept")).toEqual(["kept"]);
	expect(await trial.bodies()).toEqual(["kept"]);
	expect(await trial.bodies("kept")).toEqual(["kept"]);
	expect(await trial.blob("side")).toBeUndefined();
	expect(await trial.blob("kept")).toEqual([...Buffer.from("kept")]);
}

export function recordCases(test: Case): void {
	test("an absent record reads as version 0 and an empty document", async (trial) => {
		expect(await trial.record("a")).toEqual({ key: "a", version: 0, doc: "" });
	});

	test("a written record reads back with the commit's number as its version", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		expect(await trial.record("a")).toEqual({ key: "a", version, doc: "one" });
	});

	test("a read answers in the order of its keys, also for keys asked twice or absent", async (trial) => {
		await trial.apply([put("a", "A"), put("b", "B")]);
		const { records } = await trial.store.read(trial.home, ["b", "x", "a", "b"]);
		expect(records.map(({ key, doc }) => key + doc)).toEqual(["bB", "x", "aA", "bB"]);
	});

	test("a read of no keys answers with the time alone", async (trial) => {
		expect(await trial.store.read(trial.home, [])).toEqual({ time: trial.clock.now, records: [] });
	});

	test("a record is replaced under the version it was read at", async (trial) => {
		const first = await trial.apply([put("a", "one")]);
		const second = await trial.apply([put("a", "two", first)]);
		expect(second).toBeGreaterThan(first);
		expect(await trial.record("a")).toEqual({ key: "a", version: second, doc: "two" });
	});

	test("writing the same document again still makes a new version", async (trial) => {
		const first = await trial.apply([put("a", "one")]);
		const second = await trial.apply([put("a", "one", first)]);
		expect((await trial.record("a")).version).toBe(second);
		expect((await trial.commit([put("a", "two", first)])).results).toMatchObject([lost]);
	});

	test("a record expected absent must be absent", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		const { results } = await trial.commit([put("a", "two")]);
		expect(results).toEqual([{ ok: false, current: [{ key: "a", version, doc: "one" }] }]);
		expect((await trial.record("a")).doc).toBe("one");
	});

	test("a record expected present must not be absent", async (trial) => {
		const { results } = await trial.commit([put("a", "one", 7)]);
		expect(results).toEqual([{ ok: false, current: [{ key: "a", version: 0, doc: "" }] }]);
		expect((await trial.record("a")).version).toBe(0);
	});

	test("a version that is still to come is not taken for the present one", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		const { results } = await trial.commit([put("a", "two", version + 1)]);
		expect(results).toMatchObject([lost]);
		expect((await trial.record("a")).doc).toBe("one");
	});

	test("a removed record is absent", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		await trial.apply([remove("a", version)]);
		expect(await trial.record("a")).toEqual({ key: "a", version: 0, doc: "" });
	});

	test("a record is not removed under an old version", async (trial) => {
		const first = await trial.apply([put("a", "one")]);
		const version = await trial.apply([put("a", "two", first)]);
		const { results } = await trial.commit([remove("a", first)]);
		expect(results).toEqual([{ ok: false, current: [{ key: "a", version, doc: "two" }] }]);
		expect((await trial.record("a")).doc).toBe("two");
	});

	test("removing what is absent and expected absent is applied", async (trial) => {
		expect((await trial.commit([remove("a", 0)])).results).toEqual([{ ok: true }]);
		await trial.apply([put("a", "one")]);
		expect((await trial.commit([remove("a", 0)])).results).toMatchObject([lost]);
	});

	test("a version is not used again when a key is removed and made again", async (trial) => {
		const first = await trial.apply([put("a", "one")]);
		await trial.apply([remove("a", first)]);
		const again = await trial.apply([put("a", "one")]);
		expect(again).toBeGreaterThan(first);
		expect((await trial.commit([put("a", "stale", first)])).results).toMatchObject([lost]);
		expect((await trial.commit([check(["a", first])])).results).toMatchObject([lost]);
	});

	test("a unit that writes one record is refused whole when a record it only read has changed", async (trial) => {
		const version = await withThingsToKeep(trial);
		const { results } = await trial.commit([
			unit({
				expected: [
					["a", version],
					["b", version + 1],
				],
				put: [{ key: "a", doc: "a2" }],
				...sideEffects,
			}),
		]);
		expect(results).toMatchObject([lost]);
		expect((await trial.record("a")).doc).toBe("a1");
		await expectThingsKept(trial);
	});

	test("a unit that writes one record is refused whole when that record has changed", async (trial) => {
		const version = await withThingsToKeep(trial);
		const units = [
			unit({ expected: [["a", version - 1]], put: [{ key: "a", doc: "a2" }], ...sideEffects }),
			unit({ expected: [["a", version - 1]], removed: ["a"], ...sideEffects }),
			unit({ expected: [["a", 0]], put: [{ key: "a", doc: "a2" }], ...sideEffects }),
		];
		expect((await trial.commit(units)).results).toMatchObject([lost, lost, lost]);
		expect((await trial.record("a")).doc).toBe("a1");
		await expectThingsKept(trial);
	});

	test("a unit that writes several records is refused whole when the last of them has changed", async (trial) => {
		const version = await withThingsToKeep(trial);
		const { results } = await trial.commit([
			unit({
				expected: [
					["new", 0],
					["a", version],
					["b", version + 5],
				],
				put: [
					{ key: "new", doc: "new" },
					{ key: "b", doc: "b2" },
				],
				removed: ["a"],
				...sideEffects,
			}),
		]);
		expect(results).toMatchObject([lost]);
		const { records } = await trial.store.read(trial.home, ["new", "a", "b"]);
		expect(records.map(({ doc }) => doc)).toEqual(["", "a1", "b1"]);
		await expectThingsKept(trial);
	});

	test("a refusal shows every record the unit expected, in its order, as it is now", async (trial) => {
		const a = await trial.apply([put("a", "A")]);
		const b = await trial.apply([put("b", "B")]);
		const { results } = await trial.commit([check(["b", b], ["gone", 3], ["a", a])]);
		expect(results).toEqual([
			{
				ok: false,
				current: [
					{ key: "b", version: b, doc: "B" },
					{ key: "gone", version: 0, doc: "" },
					{ key: "a", version: a, doc: "A" },
				],
			},
		]);
	});

	test("each commit that writes takes the next number", async (trial) => {
		const first = await trial.apply([put("a", "1")]);
		expect(await trial.apply([put("b", "2"), put("c", "3")])).toBe(first + 1);
		expect(await trial.apply([remove("a", first)])).toBe(first + 2);
		expect(await trial.apply([unit({ events: [event("o", "e")] })])).toBe(first + 3);
		expect(await trial.apply([unit({ blobs: [{ key: "x", bytes: Buffer.from("x") }] })])).toBe(first + 4);
	});

	test("a commit that only checks keeps the number and changes nothing", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		const reply = await trial.commit([check(["a", version], ["b", 0]), check(["a", 0])]);
		expect(reply.commit).toBe(version);
		expect(reply.results).toEqual([{ ok: true }, { ok: false, current: [{ key: "a", version, doc: "one" }] }]);
		expect(await trial.apply([put("b", "two")])).toBe(version + 1);
	});

	test("all records of a unit of 256 are written under one version", async (trial) => {
		const keys = Array.from({ length: 256 }, (_, n) => `record-${n}`);
		const version = await trial.apply([
			unit({ expected: keys.map((key) => [key, 0]), put: keys.map((key) => ({ key, doc: `doc of ${key}` })) }),
		]);
		const { records } = await trial.store.read(trial.home, keys);
		expect(records).toEqual(keys.map((key) => ({ key, version, doc: `doc of ${key}` })));
	});

	test("a document of 64 KiB and an empty one read back as they were", async (trial) => {
		const large = "0123456789abcdef".repeat(4096);
		const version = await trial.apply([put("large", large), put("empty", "")]);
		expect((await trial.record("large")).doc).toBe(large);
		expect(await trial.record("empty")).toEqual({ key: "empty", version, doc: "" });
	});
}
