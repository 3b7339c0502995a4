import { expect } from "vitest";
import { TIME_TOLERANCE_MS } from "../../../src/store/port.ts";
import { type Case, check, LOG, put } from "../trial.ts";

export function timeCases(test: Case): void {
	test("every answer carries the store's time", async (trial) => {
		const { store, home, clock } = trial;
		const asked = [
			() => store.read(home, ["a"]),
			() => store.readBlobs(home, ["a"]),
			() => store.first(home, "q", 1),
			() => store.last(home, "q", 1),
			() => store.queues(home, ""),
			() => store.queueSizes(home, ""),
			() => store.lastCommit(home),
			() => store.events(home, LOG, undefined, undefined, 1),
			() => store.trimEvents(home, 0),
			() => store.scan(home, undefined, 1),
			() => store.scanBlobs(home, undefined, 1),
			() => trial.commit([put("a", "one")]),
			() => trial.commit([check(["a", 0])]),
		];
		for (const ask of asked) {
			clock.now += 10;
			expect((await ask()).time).toBe(clock.now);
		}
	});

	test("time does not run backwards when the clock does, in reads", async (trial) => {
		const { time } = await trial.store.read(trial.home, []);
		trial.clock.now -= 60_000;
		expect((await trial.store.read(trial.home, [])).time).toBe(time);
		expect((await trial.store.first(trial.home, "q", 1)).time).toBe(time);
		trial.clock.now += 60_001;
		expect((await trial.store.read(trial.home, [])).time).toBe(time + 1);
	});

	test("time does not run backwards when the clock does, in commits", async (trial) => {
		const at = trial.clock.now;
		const { time } = await trial.commit([put("a", "one")]);
		trial.clock.now -= 60_000;
		const second = await trial.commit([put("b", "two")], { at });
		expect(second.time).toBe(time);
		expect(second.results).toEqual([{ ok: true }]);
	});

	test("a batch ahead of the store's time is not looked at", async (trial) => {
		const { results } = await trial.commit([put("a", "one")], { at: trial.clock.now + 1 });
		expect(results).toEqual([]);
		expect((await trial.record("a")).version).toBe(0);
	});

	test("a batch too far behind the store's time is not looked at", async (trial) => {
		const { results } = await trial.commit([put("a", "one")], { at: trial.clock.now - TIME_TOLERANCE_MS - 1 });
		expect(results).toEqual([]);
		expect((await trial.record("a")).version).toBe(0);
	});

	test("a batch just within the tolerance is applied", async (trial) => {
		await trial.apply([put("a", "one")], { at: trial.clock.now });
		await trial.apply([put("b", "two")], { at: trial.clock.now - TIME_TOLERANCE_MS });
	});

	test("a check too far off is not answered either", async (trial) => {
		const { results } = await trial.commit([check(["a", 0])], { at: trial.clock.now - 10_000 });
		expect(results).toEqual([]);
	});

	test("a batch is measured against the time told, not against a clock that stepped back", async (trial) => {
		await trial.store.read(trial.home, []);
		trial.clock.now -= 5000;
		expect((await trial.commit([put("a", "one")], { at: trial.clock.now })).results).toEqual([]);
	});

	test("a batch refused for its time is not applied when its time has come", async (trial) => {
		const at = trial.clock.now + 200;
		const first = await trial.commit([put("a", "one")], { at, number: 1 });
		expect(first.results).toEqual([]);
		trial.clock.now += 300;
		expect((await trial.commit([put("a", "one")], { at, number: 1 })).results).toEqual([]);
		expect((await trial.record("a")).version).toBe(0);
		await trial.apply([put("a", "one")], { number: 2 });
	});

	test("a batch refused for its time takes no number", async (trial) => {
		const before = await trial.apply([put("a", "one")]);
		await trial.commit([put("b", "late")], { at: trial.clock.now - 10_000 });
		expect(await trial.apply([put("c", "three")])).toBe(before + 1);
	});
}
