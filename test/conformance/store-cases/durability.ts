import { expect } from "vitest";
import { type Case, check, entry, event, gone, LOG, put, remove, unit } from "../trial.ts";

export function durabilityCases(test: Case): void {
	test("records keep their documents and versions when the store is opened again", async (trial) => {
		const first = await trial.apply([put("a", "one"), put("b", "two")]);
		const second = await trial.apply([remove("b", first), put("c", "drei 🦊")]);
		await trial.reopen();
		expect(await trial.records()).toEqual([
			{ key: "a", version: first, doc: "one" },
			{ key: "c", version: second, doc: "drei 🦊" },
		]);
		expect(await trial.apply([put("a", "next", first)])).toBe(second + 1);
	});

	test("versions are not used again after opening, even when nothing is left", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		const last = await trial.apply([remove("a", version)]);
		await trial.reopen();
		expect(await trial.apply([put("a", "again")])).toBe(last + 1);
		expect((await trial.commit([check(["a", version])])).results).toMatchObject([{ ok: false }]);
	});

	test("time does not run backwards over opening", async (trial) => {
		trial.clock.now += 5000;
		const { time } = await trial.commit([put("a", "one")]);
		trial.clock.now -= 60_000;
		await trial.reopen();
		expect((await trial.store.read(trial.home, [])).time).toBe(time);
	});

	test("queues are as they were", async (trial) => {
		await trial.apply([unit({ indexAdded: [entry("q", 2, "b"), entry("q", 1, "a"), entry("due", 9e15, "c")] })]);
		await trial.apply([unit({ indexRemoved: [entry("q", 1, "a")] })]);
		await trial.reopen();
		expect(await trial.queues()).toEqual(["due", "q"]);
		expect((await trial.store.first(trial.home, "due", 1)).entries).toEqual([{ score: 9e15, key: "c" }]);
		expect(await trial.keys("q")).toEqual(["b"]);
	});

	test("blobs are as they were", async (trial) => {
		const all = Uint8Array.from({ length: 5000 }, (_, n) => n % 256);
		await trial.apply([unit({ blobs: [{ key: "a", bytes: all }] }), unit({ blobs: [{ key: "b", bytes: all }] })]);
		await trial.apply([unit({ blobsRemoved: ["b"] })]);
		await trial.reopen();
		expect(await trial.blob("a")).toEqual([...all]);
		expect(await trial.blobKeys()).toEqual(["a"]);
	});

	test("events, and who was forgotten, are as they were", async (trial) => {
		await trial.apply([unit({ events: [event("a", "1", 5), event("b", "2", 6)] })]);
		await trial.apply([unit({ events: [event("a", "3", 7)], forgotten: gone("b") })]);
		const { events } = await trial.store.events(trial.home, LOG, undefined, undefined, 10);
		await trial.reopen();
		expect((await trial.store.events(trial.home, LOG, undefined, undefined, 10)).events).toEqual(events);
		expect(await trial.bodies("a")).toEqual(["1", "3"]);
		expect(await trial.bodies("b")).toEqual([]);
		expect((await trial.store.trimEvents(trial.home, 100)).trimmed).toBe(1);
	});

	test("every partition is as it was", async (trial) => {
		const partitions = Array.from({ length: trial.partitions }, (_, n) => n);
		for (const partition of partitions) await trial.apply([put("a", `in ${partition}`)], { partition });
		await trial.reopen();
		expect(trial.store.partitions).toBe(trial.partitions);
		for (const partition of partitions) expect((await trial.record("a", partition)).doc).toBe(`in ${partition}`);
	});

	test("notices come after opening, about queues as they were found", async (trial) => {
		await trial.apply([unit({ indexAdded: [entry("q", 1, "a"), entry("due", 100, "a")] })]);
		await trial.heard();
		await trial.reopen();
		await trial.apply([unit({ indexAdded: [entry("q", 2, "b"), entry("p", 1, "b"), entry("due", 200, "b")] })]);
		expect(await trial.heard()).toEqual({ queues: ["p"], changed: [] });
	});
}
