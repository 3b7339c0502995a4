import { expect } from "vitest";
import { type Case, check, entry, put, type Trial, unit } from "../trial.ts";

const sizes = async (trial: Trial, prefix = ""): Promise<Record<string, number>> => {
	const { queues } = await trial.store.queueSizes(trial.home, prefix);
	return Object.fromEntries(queues.map(({ queue, size }) => [queue, size]));
};

const many = (queue: string, count: number, from = 0) =>
	Array.from({ length: count }, (_, n) => entry(queue, from + n, `key-${from + n}`));

export function queueSizeCases(test: Case): void {
	test("an empty store has no sizes to tell", async (trial) => {
		expect(await sizes(trial)).toEqual({});
	});

	test("a queue is as large as the entries added to it, over units and commits", async (trial) => {
		await trial.apply([
			unit({ indexAdded: many("a", 3) }),
			unit({ indexAdded: [...many("a", 2, 10), ...many("b", 1)] }),
		]);
		await trial.apply([unit({ indexAdded: many("a", 40, 100) })]);
		expect(await sizes(trial)).toEqual({ a: 45, b: 1 });
	});

	test("removed entries no longer count, and a queue that lost its last is not told of", async (trial) => {
		await trial.apply([unit({ indexAdded: [...many("a", 3), ...many("b", 2)] })]);
		await trial.apply([unit({ indexRemoved: many("a", 2) }), unit({ indexRemoved: many("b", 2) })]);
		expect(await sizes(trial)).toEqual({ a: 1 });
		await trial.apply([unit({ indexRemoved: many("a", 1, 2), indexAdded: many("b", 1) })]);
		expect(await sizes(trial)).toEqual({ b: 1 });
	});

	test("an entry that moves within its queue or to another counts once", async (trial) => {
		await trial.apply([unit({ indexAdded: [entry("a", 1, "x"), entry("a", 1, "y")] })]);
		await trial.apply([unit({ indexRemoved: [entry("a", 1, "x")], indexAdded: [entry("a", 2, "x")] })]);
		expect(await sizes(trial)).toEqual({ a: 2 });
		await trial.apply([unit({ indexRemoved: [entry("a", 2, "x")], indexAdded: [entry("b", 2, "x")] })]);
		expect(await sizes(trial)).toEqual({ a: 1, b: 1 });
	});

	test("adding what is there and removing what is not changes no size", async (trial) => {
		await trial.apply([unit({ indexAdded: many("a", 3) })]);
		await trial.apply([unit({ indexAdded: many("a", 4) })]);
		await trial.apply([unit({ indexRemoved: [entry("a", 77, "nobody"), entry("b", 1, "nobody")] })]);
		expect(await sizes(trial)).toEqual({ a: 4 });
		await trial.apply([unit({ indexAdded: many("a", 2) }), unit({ indexRemoved: many("a", 2) })]);
		expect(await sizes(trial)).toEqual({ a: 2 });
	});

	test("a unit that lost adds nothing", async (trial) => {
		const lost = unit({ expected: [["absent", 7]], indexAdded: many("a", 3) });
		await trial.commit([lost, unit({ indexAdded: many("a", 1) }), check(["absent", 7])]);
		expect(await sizes(trial)).toEqual({ a: 1 });
	});

	test("a batch sent again counts once", async (trial) => {
		const units = [unit({ indexAdded: many("a", 3) })];
		await trial.commit(units, { number: 5 });
		await trial.commit(units, { number: 5 });
		expect(await sizes(trial)).toEqual({ a: 3 });
	});

	test("a prefix selects, and sizes come in the order of their queues", async (trial) => {
		await trial.apply([
			unit({ indexAdded: [...many("list,b", 2), ...many("list,a", 1), ...many("lisu", 1), ...many("due", 4)] }),
		]);
		expect((await trial.store.queueSizes(trial.home, "list,")).queues).toEqual([
			{ queue: "list,a", size: 1 },
			{ queue: "list,b", size: 2 },
		]);
		expect(await sizes(trial, "z")).toEqual({});
	});

	test("names may hold any character", async (trial) => {
		const names = ["ünï", "日本", "🦊", "a\u0000b", "a%b", "\ud800", "x\udfff"];
		await trial.apply([unit({ indexAdded: names.flatMap((name) => many(name, 2)) })]);
		expect(await sizes(trial)).toEqual(Object.fromEntries(names.map((name) => [name, 2])));
		expect(await sizes(trial, "日")).toEqual({ 日本: 2 });
		expect(await sizes(trial, "a")).toEqual({ "a\u0000b": 2, "a%b": 2 });
	});

	test("partitions have their own sizes", async (trial) => {
		for (let partition = 0; partition < trial.partitions; partition++) {
			await trial.apply([unit({ indexAdded: many("a", partition + 1) })], { partition });
		}
		for (let partition = 0; partition < trial.partitions; partition++) {
			expect((await trial.store.queueSizes(partition, "")).queues).toEqual([{ queue: "a", size: partition + 1 }]);
		}
	});

	test("sizes outlive closing and opening again", async (trial) => {
		await trial.apply([unit({ indexAdded: many("a", 70) }), put("k", "doc")]);
		await trial.apply([unit({ indexRemoved: many("a", 33) })]);
		await trial.reopen();
		expect(await sizes(trial)).toEqual({ a: 37 });
	});

	test("after many moves every size is what is in the queue", async (trial) => {
		const names = ["a", "b", "c", "d"];
		const at = new Map<string, string>();
		let seed = 7;
		const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
		for (let round = 0; round < 30; round++) {
			const units = Array.from({ length: 20 }, () => {
				const key = `k${random(60)}`;
				const from = at.get(key);
				const to = names[random(5)];
				if (to === undefined) at.delete(key);
				else at.set(key, to);
				return unit({
					indexRemoved: from === undefined ? [] : [entry(from, 1, key)],
					indexAdded: to === undefined ? [] : [entry(to, 1, key)],
				});
			});
			await trial.apply(units);
		}
		const expected: Record<string, number> = {};
		for (const queue of at.values()) expected[queue] = (expected[queue] ?? 0) + 1;
		expect(await sizes(trial)).toEqual(expected);
		for (const queue of Object.keys(expected)) expect((await trial.keys(queue)).length).toBe(expected[queue]);
	});

	test("the last entries of a queue come last first", async (trial) => {
		await trial.apply([
			unit({ indexAdded: [entry("a", 2, "x"), entry("a", -5, "y"), entry("a", 2, "z"), entry("b", 9, "x")] }),
		]);
		const last = async (count: number) => (await trial.store.last(trial.home, "a", count)).entries;
		expect(await last(1)).toEqual([{ score: 2, key: "z" }]);
		expect(await last(9)).toEqual([
			{ score: 2, key: "z" },
			{ score: 2, key: "x" },
			{ score: -5, key: "y" },
		]);
		expect((await trial.store.last(trial.home, "none", 3)).entries).toEqual([]);
	});

	test("the end of a long queue is found", async (trial) => {
		await trial.apply([unit({ indexAdded: many("a", 3000) })]);
		expect((await trial.store.last(trial.home, "a", 2)).entries).toEqual([
			{ score: 2999, key: "key-2999" },
			{ score: 2998, key: "key-2998" },
		]);
	});
}
