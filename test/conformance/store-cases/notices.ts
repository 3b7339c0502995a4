import { expect } from "vitest";
import { type Case, entry, put, remove, type Trial, unit } from "../trial.ts";

const add = (trial: Trial, ...indexAdded: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexAdded })]);

const take = (trial: Trial, ...indexRemoved: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexRemoved })]);

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

	test("every listener is told", async (trial) => {
		const second: string[] = [];
		trial.store.onNotice(({ queues }) => second.push(...queues));
		await add(trial, entry("q", 1, "a"));
		expect((await trial.heard()).queues).toEqual(["q"]);
		expect(second).toContain("q");
	});
}
