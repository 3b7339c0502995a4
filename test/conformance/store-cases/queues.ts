import { expect } from "vitest";
import { type Case, entry, type Trial, unit } from "../trial.ts";

const add = (trial: Trial, ...indexAdded: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexAdded })]);

const take = (trial: Trial, ...indexRemoved: ReturnType<typeof entry>[]): Promise<number> =>
	trial.apply([unit({ put: [{ key: "writer", doc: "" }], indexRemoved })]);

export function queueCases(test: Case): void {
	test("a queue nobody wrote to is empty", async (trial) => {
		expect((await trial.store.first(trial.home, "q", 10)).entries).toEqual([]);
	});

	test("entries come by score, then by key", async (trial) => {
		await add(
			trial,
			entry("q", 2, "b"),
			entry("q", 1, "z"),
			entry("q", 2, "a"),
			entry("q", 10, "c"),
			entry("q", 2, "B"),
		);
		const { entries } = await trial.store.first(trial.home, "q", 10);
		expect(entries).toEqual([
			{ score: 1, key: "z" },
			{ score: 2, key: "B" },
			{ score: 2, key: "a" },
			{ score: 2, key: "b" },
			{ score: 10, key: "c" },
		]);
	});

	test("scores are numbers, negative ones first", async (trial) => {
		await add(
			trial,
			entry("q", 5, "e"),
			entry("q", -10, "a"),
			entry("q", 0, "d"),
			entry("q", -9, "b"),
			entry("q", -1, "c"),
		);
		expect(await trial.keys("q")).toEqual(["a", "b", "c", "d", "e"]);
	});

	test("huge scores keep every digit", async (trial) => {
		const scores = [-9e15, -9e15 + 1, -8_998_300_000_000_001, -1, 8_999_999_999_999_999, 9e15];
		await add(trial, ...scores.toReversed().map((score, n) => entry("q", score, `k${n}`)));
		const { entries } = await trial.store.first(trial.home, "q", 10);
		expect(entries.map(({ score }) => score)).toEqual(scores);
	});

	test("no more entries come than were asked for", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"), entry("q", 3, "c"));
		expect(await trial.keys("q", 2)).toEqual(["a", "b"]);
		expect(await trial.keys("q", 3)).toEqual(["a", "b", "c"]);
		expect(await trial.keys("q", 4)).toEqual(["a", "b", "c"]);
	});

	test("a cursor goes on behind its entry", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"), entry("q", 2, "c"), entry("q", 3, "a"));
		const { entries } = await trial.store.first(trial.home, "q", 10, { score: 2, key: "b" });
		expect(entries.map(({ key }) => key)).toEqual(["c", "a"]);
	});

	test("a cursor works when its entry is gone or never was", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"), entry("q", 2, "d"), entry("q", 4, "e"));
		await take(trial, entry("q", 2, "b"));
		const after = async (score: number, key: string): Promise<string[]> =>
			(await trial.store.first(trial.home, "q", 10, { score, key })).entries.map((found) => found.key);
		expect(await after(2, "b")).toEqual(["d", "e"]);
		expect(await after(2, "c")).toEqual(["d", "e"]);
		expect(await after(2, "zzz")).toEqual(["e"]);
		expect(await after(2, "")).toEqual(["d", "e"]);
		expect(await after(3, "")).toEqual(["e"]);
		expect(await after(-5, "zzz")).toEqual(["a", "d", "e"]);
		expect(await after(4, "e")).toEqual([]);
		expect(await after(99, "")).toEqual([]);
	});

	test("a cursor has its own count", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"), entry("q", 3, "c"), entry("q", 4, "d"));
		const { entries } = await trial.store.first(trial.home, "q", 2, { score: 1, key: "a" });
		expect(entries.map(({ key }) => key)).toEqual(["b", "c"]);
	});

	test("paging shows every entry once, in order", async (trial) => {
		const entries = Array.from({ length: 500 }, (_, n) => entry("q", Math.floor(n / 7) - 30, `key-${n % 7}-${n}`));
		await add(trial, ...entries.toReversed());
		const seen: { score: number; key: string }[] = [];
		for (;;) {
			const page = (await trial.store.first(trial.home, "q", 33, seen.at(-1))).entries;
			if (page.length === 0) break;
			seen.push(...page);
		}
		expect(seen).toEqual(entries.map(({ score, key }) => ({ score, key })));
	});

	test("adding an entry twice and removing it twice change nothing more", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 1, "a"));
		await add(trial, entry("q", 1, "a"));
		expect(await trial.keys("q")).toEqual(["a"]);
		await take(trial, entry("q", 1, "a"), entry("q", 1, "a"));
		await take(trial, entry("q", 1, "a"), entry("never", 1, "a"));
		expect(await trial.keys("q")).toEqual([]);
	});

	test("an entry both removed and added by a unit is there", async (trial) => {
		await add(trial, entry("q", 1, "a"));
		const both = { indexAdded: [entry("q", 1, "a")], indexRemoved: [entry("q", 1, "a")] };
		await trial.apply([unit({ put: [{ key: "a", doc: "" }], ...both })]);
		expect(await trial.keys("q")).toEqual(["a"]);
	});

	test("entries both removed and added by a unit are there, among many that are only added", async (trial) => {
		const kept = Array.from({ length: 5 }, (_, n) => entry("q", n, `kept-${n}`));
		await add(trial, ...kept);
		const others = Array.from({ length: 200 }, (_, n) => entry("q", 100 + n, `other-${n}`));
		await trial.apply([unit({ put: [{ key: "a", doc: "" }], indexRemoved: kept, indexAdded: [...kept, ...others] })]);
		expect(await trial.keys("q")).toEqual([...kept, ...others].map(({ key }) => key));
	});

	test("an entry moves within its queue", async (trial) => {
		await add(trial, entry("q", 1, "a"), entry("q", 2, "b"));
		await trial.apply([
			unit({ put: [{ key: "a", doc: "" }], indexRemoved: [entry("q", 1, "a")], indexAdded: [entry("q", 3, "a")] }),
		]);
		expect((await trial.store.first(trial.home, "q", 10)).entries).toEqual([
			{ score: 2, key: "b" },
			{ score: 3, key: "a" },
		]);
	});

	test("units of a batch change the index one after the other", async (trial) => {
		const added = unit({ put: [{ key: "a", doc: "" }], indexAdded: [entry("q", 1, "a")] });
		const taken = unit({ put: [{ key: "b", doc: "" }], indexRemoved: [entry("q", 1, "a")] });
		await trial.apply([added, taken]);
		expect(await trial.keys("q")).toEqual([]);
		await trial.apply([added, taken, added]);
		expect(await trial.keys("q")).toEqual(["a"]);
		await trial.apply([taken, added, taken]);
		expect(await trial.keys("q")).toEqual([]);
	});

	test("a key may stand in several queues", async (trial) => {
		await add(trial, entry("p", 1, "a"), entry("q", 2, "a"), entry("r", 3, "a"));
		await take(trial, entry("q", 2, "a"));
		expect([await trial.keys("p"), await trial.keys("q"), await trial.keys("r")]).toEqual([["a"], [], ["a"]]);
	});

	test("a key may be queued though no record has it", async (trial) => {
		await add(trial, entry("q", 1, "nobody"));
		expect(await trial.keys("q")).toEqual(["nobody"]);
		expect((await trial.record("nobody")).version).toBe(0);
	});

	test("a unit of index changes alone is applied", async (trial) => {
		await trial.apply([unit({ indexAdded: [entry("q", 1, "a"), entry("q", 2, "b")] })]);
		await trial.apply([unit({ indexRemoved: [entry("q", 1, "a")] })]);
		expect(await trial.keys("q")).toEqual(["b"]);
	});

	test("it can be asked which entries stand, over several queues", async (trial) => {
		await add(trial, entry("p", 1, "a"), entry("q", -9e15, "a"), entry("q", 2, "b:c d,é"));
		const { standing } = await trial.store.standing(trial.home, [
			entry("q", 2, "b:c d,é"),
			entry("p", 1, "a"),
			entry("q", 1, "a"),
			entry("q", -9e15, "a"),
			entry("p", 1, "b"),
			entry("never", 1, "a"),
			entry("p", 1, "a"),
		]);
		expect(standing).toEqual([true, true, false, true, false, false, true]);
		await take(trial, entry("p", 1, "a"));
		expect((await trial.store.standing(trial.home, [entry("p", 1, "a")])).standing).toEqual([false]);
		expect(await trial.store.standing(trial.home, [])).toEqual({ time: trial.clock.now, standing: [] });
	});

	test("a thousand entries come and go in one unit", async (trial) => {
		const entries = Array.from({ length: 1000 }, (_, n) => entry(`q${n % 3}`, n, `key-${n}`));
		await add(trial, ...entries);
		await take(trial, ...entries.filter((_, n) => n % 2 === 0));
		const left = entries.filter((_, n) => n % 2 === 1);
		for (const queue of ["q0", "q1", "q2"]) {
			expect(await trial.keys(queue)).toEqual(left.filter((one) => one.queue === queue).map(({ key }) => key));
		}
	});
}
