import { expect } from "vitest";
import type { News } from "../../../src/store/port.ts";
import { type Case, entry, put, remove, type Trial, unit } from "../trial.ts";

const add = (trial: Trial, ...indexAdded: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexAdded })]);

const take = (trial: Trial, ...indexRemoved: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexRemoved })]);

/** What is told from now on of what commits wrote; by number. */
function newsOf(trial: Trial): Map<number, News> {
	const told = new Map<number, News>();
	trial.store.onNotice(({ news }) => news && told.set(news.commit, news));
	return told;
}

export function noticeCases(test: Case): void {
	test("a queue that got its first entry is told", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("p", 1, "a"));
		expect((await trial.heard()).queues.sort()).toEqual(["p", "q"]);
	});

	test("a queue that had entries already is not", async (trial) => {
		await add(trial, entry("q", 1, "a"));
		await trial.heard();
		await add(trial, entry("q", 0, "b"), entry("q", 1, "a"));
		expect((await trial.heard()).queues).toEqual([]);
	});

	test("a queue that is only listed is not told", async (trial) => {
		await add(trial, entry("list,q", 1, "a"), entry("lists", 1, "a"), entry("q", 1, "a"));
		expect((await trial.heard()).queues.sort()).toEqual(["lists", "q"]);
		expect((await trial.store.queues(trial.home, "l")).queues.sort()).toEqual(["list,q", "lists"]);
	});

	test("a queue that was emptied and filled again is told again", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"));
		await take(trial, entry("q", 1, "a"));
		await add(trial, entry("q", 3, "c"));
		expect((await trial.heard()).queues).toEqual(["q"]);
		await take(trial, entry("q", 2, "b"), entry("q", 3, "c"));
		await add(trial, entry("q", 4, "d"));
		expect((await trial.heard()).queues).toEqual(["q"]);
	});

	test("the first due time is told, and every earlier one, but no later one", async (trial) => {
		await add(trial, entry("due", 500, "a"));
		expect(await trial.heard()).toEqual({ queues: [], changed: [], due: 500 });
		await add(trial, entry("due", 600, "b"));
		expect((await trial.heard()).due).toBeUndefined();
		await add(trial, entry("due", 400, "c"), entry("due", 450, "d"));
		expect((await trial.heard()).due).toBe(400);
		await take(trial, entry("due", 400, "c"));
		expect((await trial.heard()).due).toBeUndefined();
		await add(trial, entry("due", 420, "e"));
		expect((await trial.heard()).due).toBe(420);
	});

	test("an earlier due time is not told when whoever commits vouches for it", async (trial) => {
		const adding = (...indexAdded: ReturnType<typeof entry>[]) =>
			trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexAdded })], { vouched: true });
		await adding(entry("due", 500, "a"), entry("q", 1, "a"));
		expect(await trial.heard()).toEqual({ queues: ["q"], changed: [] });
		await adding(entry("due", 400, "b"));
		expect((await trial.heard()).due).toBeUndefined();
		await add(trial, entry("due", 450, "c"));
		expect((await trial.heard()).due).toBeUndefined();
		await add(trial, entry("due", 300, "d"));
		expect((await trial.heard()).due).toBe(300);
	});

	test("a due time is told again after all were taken", async (trial) => {
		await add(trial, entry("due", 500, "a"));
		await take(trial, entry("due", 500, "a"));
		await trial.heard();
		await add(trial, entry("due", 900, "b"));
		expect((await trial.heard()).due).toBe(900);
	});

	test("a watched record is told when it is made, changed and removed", async (trial) => {
		trial.store.watch(trial.home, "a");
		const first = await trial.apply([put("a", "1"), put("b", "1")]);
		expect((await trial.heard()).changed).toEqual(["a"]);
		const second = await trial.apply([put("a", "2", first)]);
		expect((await trial.heard()).changed).toEqual(["a"]);
		await trial.apply([remove("a", second)]);
		expect((await trial.heard()).changed).toEqual(["a"]);
	});

	test("a record that is not watched any more is not told", async (trial) => {
		const unwatch = trial.store.watch(trial.home, "a");
		const version = await trial.apply([put("a", "1")]);
		unwatch();
		await trial.heard();
		await trial.apply([put("a", "2", version)]);
		expect((await trial.heard()).changed).toEqual([]);
	});

	test("a record is told until its last watcher has gone", async (trial) => {
		const unwatchFirst = trial.store.watch(trial.home, "a");
		const unwatchSecond = trial.store.watch(trial.home, "a");
		unwatchFirst();
		unwatchFirst();
		const first = await trial.apply([put("a", "1")]);
		expect((await trial.heard()).changed).toEqual(["a"]);
		unwatchSecond();
		await trial.apply([put("a", "2", first)]);
		expect((await trial.heard()).changed).toEqual([]);
	});

	test("a watch is one partition's", async (trial) => {
		trial.store.watch(trial.home, "a");
		for (let partition = 0; partition < trial.home; partition++) {
			await trial.apply([put("a", "1")], { partition });
			expect((await trial.heard(partition)).changed).toEqual([]);
		}
		expect((await trial.heard()).changed).toEqual([]);
	});

	test("a lost unit tells nothing", async (trial) => {
		trial.store.watch(trial.home, "a");
		const indexAdded = [entry("q", 1, "a"), entry("due", 1, "a")];
		const { results } = await trial.commit([{ ...put("a", "1", 9), indexAdded }]);
		expect(results).toMatchObject([{ ok: false }]);
		expect(await trial.heard()).toEqual({ queues: [], changed: [] });
	});

	test("little that fills queues is told whole where others listen", async (trial) => {
		const news = newsOf(trial);
		const commit = await trial.apply([
			{ ...put("é", '{"a":"\\u0000"/"}'), indexAdded: [entry("q", 2.5, "é"), entry("p", -1, "é")] },
			{ ...put("b", "Ω"), indexAdded: [entry("q", 1, "b"), entry("due", 7, "b")] },
		]);
		await trial.heard();
		const told = news.get(commit);
		if (trial.store.shared) expect(told).toBeDefined();
		if (!told) return;
		const byQueue = (queue: string) =>
			told.entries.filter((each) => each.queue === queue).sort((a, b) => a.score - b.score);
		expect(byQueue("q")).toEqual([entry("q", 1, "b"), entry("q", 2.5, "é")]);
		expect(byQueue("p")).toEqual([entry("p", -1, "é")]);
		expect(told.entries).toHaveLength(3);
		expect(told.records.map(({ key }) => key).sort()).toEqual(["b", "é"]);
		for (const record of told.records) expect(await trial.record(record.key)).toEqual({ ...record, version: commit });
	});

	test("what is told whole is what is left when units of a batch undo each other", async (trial) => {
		const news = newsOf(trial);
		const commit = await trial.apply([
			{ ...put("a", "1"), indexAdded: [entry("q", 1, "a"), entry("p", 1, "a")] },
			unit({ put: [{ key: "a", doc: "2" }], indexRemoved: [entry("q", 1, "a")], indexAdded: [entry("q", 2, "a")] }),
			unit({ put: [{ key: "b", doc: "1" }], indexRemoved: [entry("p", 1, "a")] }),
		]);
		await trial.heard();
		const { entries = [], records = [] } = news.get(commit) ?? {};
		for (const { queue, key } of entries) expect(await trial.keys(queue)).toEqual([key]);
		for (const { key, doc } of records) expect((await trial.record(key)).doc).toBe(doc);
	});

	test("a record that stands in none of the queues it fills is not told, whatever it is written with", async (trial) => {
		const news = newsOf(trial);
		const commit = await trial.apply([
			{ ...put("keyring", "secret"), indexAdded: [entry("due", 1, "keyring")] },
			unit({ put: [{ key: "beside", doc: "2" }] }),
			{ ...put("a", "1"), indexAdded: [entry("q", 1, "a"), entry("list,q", 1, "a")] },
		]);
		await trial.heard();
		const told = news.get(commit);
		if (trial.store.shared) expect(told).toBeDefined();
		if (told) expect(told.records).toEqual([{ key: "a", doc: "1" }]);
	});

	test("a lost unit is not told of among others", async (trial) => {
		const news = newsOf(trial);
		const { commit } = await trial.commit([
			{ ...put("a", "1", 9), indexAdded: [entry("q", 1, "a")] },
			{ ...put("b", "1"), indexAdded: [entry("q", 2, "b")] },
		]);
		await trial.heard();
		const { entries = [], records = [] } = news.get(commit) ?? {};
		expect(entries.filter(({ key }) => key === "a")).toEqual([]);
		expect(records.filter(({ key }) => key === "a")).toEqual([]);
	});

	test("much is not told whole", async (trial) => {
		const news = newsOf(trial);
		const large = await trial.apply([{ ...put("a", "x".repeat(5000)), indexAdded: [entry("q", 1, "a")] }]);
		const keys = Array.from({ length: 20 }, (_, n) => `k${n}`);
		const many = await trial.apply(keys.map((key) => ({ ...put(key, "1"), indexAdded: [entry("p", 1, key)] })));
		const others = await trial.apply([
			unit({ put: [{ key: "w", doc: "" }], indexAdded: keys.map((key) => entry("o", 1, key)) }),
		]);
		expect((await trial.heard()).queues.sort()).toEqual(["o", "p", "q"]);
		for (const commit of [large, many, others]) expect(news.get(commit)).toBeUndefined();
	});

	test("every listener is told", async (trial) => {
		const second: string[] = [];
		trial.store.onNotice(({ queues }) => second.push(...queues));
		await add(trial, entry("q", 1, "a"));
		expect((await trial.heard()).queues).toEqual(["q"]);
		expect(second).toContain("q");
	});
}
