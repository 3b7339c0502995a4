import { expect } from "vitest";
import { type Case, check, event, LOG, put, remove, unit } from "../trial.ts";

export function batchCases(test: Case): void {
	test("units of a batch are judged separately", async (trial) => {
		const version = await trial.apply([put("taken", "first")]);
		const { results, commit } = await trial.commit([put("a", "A"), put("taken", "second"), put("b", "B")]);
		expect(results).toEqual([
			{ ok: true },
			{ ok: false, current: [{ key: "taken", version, doc: "first" }] },
			{ ok: true },
		]);
		const { records } = await trial.store.read(trial.home, ["a", "taken", "b"]);
		expect(records.map((record) => record.version)).toEqual([commit, version, commit]);
	});

	test("a unit sees what the units before it wrote", async (trial) => {
		const { results, commit } = await trial.commit([put("a", "first"), put("a", "second"), check(["a", 0])]);
		const current = [{ key: "a", version: commit, doc: "first" }];
		expect(results).toEqual([{ ok: true }, { ok: false, current }, { ok: false, current }]);
	});

	test("a unit sees what the units before it removed", async (trial) => {
		const version = await trial.apply([put("a", "one")]);
		const { results, commit } = await trial.commit([
			check(["a", version]),
			remove("a", version),
			check(["a", version]),
			check(["a", 0]),
			put("a", "two"),
		]);
		expect(results.map(({ ok }) => ok)).toEqual([true, true, false, true, true]);
		expect(await trial.record("a")).toEqual({ key: "a", version: commit, doc: "two" });
	});

	test("a lost unit hides nothing of the units behind it", async (trial) => {
		const { results } = await trial.commit([
			unit({
				expected: [
					["a", 0],
					["b", 9],
				],
				put: [
					{ key: "a", doc: "lost" },
					{ key: "b", doc: "lost" },
				],
			}),
			put("a", "won"),
		]);
		expect(results.map(({ ok }) => ok)).toEqual([false, true]);
		expect((await trial.record("a")).doc).toBe("won");
	});

	test("a batch sent again is answered as the first time and not applied again", async (trial) => {
		const units = [put("a", "one"), unit({ events: [event("o", "once")] }), put("a", "lost")];
		const first = await trial.commit(units, { number: 1 });
		trial.clock.now += 500;
		expect(await trial.commit(units, { number: 1 })).toEqual(first);
		expect(await trial.bodies()).toEqual(["once"]);
		expect(await trial.record("a")).toEqual({ key: "a", version: first.commit, doc: "one" });
	});

	test("a batch sent again after others have written is still answered as the first time", async (trial) => {
		const first = await trial.commit([put("a", "one")], { number: 1 });
		await trial.apply([put("a", "two", first.commit)], { engine: "engine-b" });
		expect(await trial.commit([put("a", "one")], { number: 1 })).toEqual(first);
		expect((await trial.record("a")).doc).toBe("two");
	});

	test("a batch that was lost is remembered too", async (trial) => {
		const version = await trial.apply([put("a", "one")], { engine: "engine-b" });
		const first = await trial.commit([put("a", "mine")], { number: 1 });
		expect(first.results).toMatchObject([{ ok: false }]);
		await trial.apply([remove("a", version)], { engine: "engine-b" });
		expect(await trial.commit([put("a", "mine")], { number: 1 })).toEqual(first);
		expect((await trial.record("a")).version).toBe(0);
	});

	test("an older batch that arrives late is ignored", async (trial) => {
		await trial.apply([put("a", "one")], { number: 5 });
		const { inFlight } = trial.store;
		expect((await trial.commit([put("b", "late")], { number: 5 - inFlight })).results).toEqual([]);
		expect((await trial.record("b")).version).toBe(0);
	});

	test("as many batches as may be on their way are remembered", async (trial) => {
		const numbers = Array.from({ length: trial.store.inFlight }, (_, n) => n + 1);
		const replies = [];
		for (const number of numbers) replies.push(await trial.commit([put(`key-${number}`, "first")], { number }));
		for (const number of numbers.toReversed()) {
			expect(await trial.commit([put(`key-${number}`, "first")], { number })).toEqual(replies[number - 1]);
		}
	});

	test("a batch that others of its engine overtook is looked at like any other, once", async (trial) => {
		const last = trial.store.inFlight;
		for (let number = last; number >= 1; number--) {
			const reply = await trial.commit([put(`key-${number}`, "doc")], { number });
			expect(reply.results).toEqual([{ ok: true }]);
			expect(await trial.commit([put(`key-${number}`, "doc")], { number })).toEqual(reply);
		}
	});

	test("numbers of batches may leave gaps", async (trial) => {
		await trial.apply([put("a", "one")], { number: 5 });
		await trial.apply([put("b", "two")], { number: 900 });
		expect((await trial.record("b")).doc).toBe("two");
	});

	test("another engine's batch of the same number is its own", async (trial) => {
		await trial.apply([put("a", "one")], { engine: "engine-a", number: 3 });
		await trial.apply([put("b", "two")], { engine: "engine-b", number: 3 });
		await trial.apply([put("c", "three")], { engine: "engine-b", number: 4 });
		const { results } = await trial.commit([put("a", "one")], { engine: "engine-a", number: 3 });
		expect(results).toEqual([{ ok: true }]);
		expect((await trial.record("b")).doc).toBe("two");
	});

	test("a batch that only checks may be sent again and again", async (trial) => {
		const version = await trial.apply([put("a", "one")], { number: 1 });
		for (let n = 0; n < 3; n++) {
			expect((await trial.commit([check(["a", version])], { number: 2 })).results).toEqual([{ ok: true }]);
		}
		await trial.apply([put("b", "two")], { number: 3 });
	});

	test("of two commits on one record sent at once exactly one wins", async (trial) => {
		const replies = await Promise.all(
			["engine-a", "engine-b", "engine-c"].map((engine) => trial.commit([put("a", engine)], { engine })),
		);
		const won = replies.filter(({ results }) => results[0]?.ok);
		expect(won).toHaveLength(1);
		expect(await trial.record("a")).toMatchObject({ version: won[0]?.commit });
	});

	test("commits sent at once to all partitions are all applied, each under its partition's number", async (trial) => {
		const partitions = Array.from({ length: trial.partitions }, (_, n) => n);
		const send = (key: string, doc: string): Promise<number[]> =>
			Promise.all(partitions.map((partition) => trial.apply([put(key, doc)], { partition })));
		const first = await send("a", "one");
		expect(await send("b", "two")).toEqual(first.map((commit) => commit + 1));
		for (const partition of partitions) expect((await trial.record("b", partition)).doc).toBe("two");
	});

	test("a read sent when a commit was answered sees it", async (trial) => {
		for (let n = 0; n < 50; n++) {
			const version = await trial.apply([put(`key-${n}`, "x")]);
			expect((await trial.record(`key-${n}`)).version).toBe(version);
		}
	});

	test("a batch of 1000 units is applied in order", async (trial) => {
		await trial.apply([put("key-500", "taken")]);
		const units = Array.from({ length: 1000 }, (_, n) => ({
			...put(`key-${n}`, `doc ${n}`),
			events: [event(`owner-${n}`, `body ${n}`)],
			indexAdded: [{ queue: "q", score: 1000 - n, key: `key-${n}` }],
		}));
		const { results } = await trial.commit(units);
		expect(results.filter(({ ok }) => ok)).toHaveLength(999);
		expect(results[500]).toMatchObject({ ok: false });
		const { events } = await trial.store.events(trial.home, LOG, undefined, undefined, 2000);
		const kept = units.filter((_, n) => n !== 500);
		expect(events.map(({ body }) => body)).toEqual(kept.map((one) => one.events[0]?.body));
		expect(events.map(({ index }) => index)).toEqual([...units.keys()].filter((n) => n !== 500));
		expect(await trial.keys("q", 2000)).toEqual(kept.map((one) => one.put[0]?.key).reverse());
	});
}
