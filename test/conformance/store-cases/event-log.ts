import { expect } from "vitest";
import { EVENT_LOG } from "../../../src/store/port.ts";
import { type Case, check, event, put, unit } from "../trial.ts";

/** What a reader of a whole partition's log needs to know. */
export function eventLogCases(test: Case): void {
	test("the latest commit is told; nothing was committed to an empty store", async (trial) => {
		const latest = async () => (await trial.store.lastCommit(trial.home)).commit;
		expect(await latest()).toBe(0);
		const first = await trial.apply([put("a", "1")]);
		expect(await latest()).toBe(first);
		await trial.apply([check(["a", first])]);
		expect(await latest()).toBe(first);
		const second = await trial.apply([unit({ events: [event("a", "one")] })]);
		expect(await latest()).toBe(second);
		await trial.reopen();
		expect(await latest()).toBe(second);
	});

	test("reading behind the latest commit gives what comes after it, and nothing from before", async (trial) => {
		await trial.apply([unit({ events: [event("a", "one"), event("a", "two")] })]);
		const { commit } = await trial.store.lastCommit(trial.home);
		const after = { commit, index: 1_000_000 };
		expect((await trial.store.events(trial.home, undefined, after, 10)).events).toEqual([]);
		await trial.apply([unit({ events: [event("b", "three")] })]);
		const { events } = await trial.store.events(trial.home, undefined, after, 10);
		expect(events.map(({ body }) => body)).toEqual(["three"]);
	});

	test("a watched log is told of when events are appended, and only then", async (trial) => {
		await trial.apply([unit({ events: [event("a", "unwatched")] })]);
		expect((await trial.heard()).changed).toEqual([]);
		const stop = trial.store.watch(trial.home, EVENT_LOG);
		await trial.apply([put("a", "1")]);
		expect((await trial.heard()).changed).toEqual([]);
		await trial.apply([unit({ events: [event("a", "one")] }), unit({ events: [event("b", "two")] })]);
		expect((await trial.heard()).changed).toEqual([EVENT_LOG]);
		await trial.commit([unit({ expected: [["absent", 9]], events: [event("a", "lost")] })]);
		expect((await trial.heard()).changed).toEqual([]);
		stop();
		await trial.apply([unit({ events: [event("a", "three")] })]);
		expect((await trial.heard()).changed).toEqual([]);
	});
}
