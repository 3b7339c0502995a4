import { expect } from "vitest";
import { type LogPosition, logSubject } from "../../../src/store/port.ts";
import { type Case, check, event, gone, LOG, put, type Trial, unit } from "../trial.ts";

const inLog = (trial: Trial, log: string, owner?: string) =>
	trial.store.events(trial.home, log, owner, undefined, 1000).then(({ events }) => events.map(({ body }) => body));

/** What a reader of a whole log needs to know. */
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
		expect((await trial.store.events(trial.home, LOG, undefined, after, 10)).events).toEqual([]);
		await trial.apply([unit({ events: [event("b", "three")] })]);
		const { events } = await trial.store.events(trial.home, LOG, undefined, after, 10);
		expect(events.map(({ body }) => body)).toEqual(["three"]);
	});

	test("a watched log is told of when events are appended, and only then", async (trial) => {
		await trial.apply([unit({ events: [event("a", "unwatched")] })]);
		expect((await trial.heard()).changed).toEqual([]);
		const stop = trial.store.watch(trial.home, logSubject(LOG));
		await trial.apply([put("a", "1")]);
		expect((await trial.heard()).changed).toEqual([]);
		await trial.apply([unit({ events: [event("a", "one")] }), unit({ events: [event("b", "two")] })]);
		expect((await trial.heard()).changed).toEqual([logSubject(LOG)]);
		await trial.apply([unit({ events: [event("c", "elsewhere", 1, { log: "other" })] })]);
		expect((await trial.heard()).changed).toEqual([]);
		await trial.commit([unit({ expected: [["absent", 9]], events: [event("a", "lost")] })]);
		expect((await trial.heard()).changed).toEqual([]);
		stop();
		await trial.apply([unit({ events: [event("a", "three")] })]);
		expect((await trial.heard()).changed).toEqual([]);
	});

	test("logs are read apart, also when one commit appends to several", async (trial) => {
		expect((await trial.store.logs(trial.home)).logs).toEqual([]);
		await trial.apply([
			unit({ events: [event("a", "a1", 1, { log: "one" }), event("b", "b1", 1, { log: "two" })] }),
			unit({ events: [event("a", "a2", 2, { log: "one" })] }),
		]);
		await trial.apply([unit({ events: [event("b", "b2", 3, { log: "two" })] })]);
		expect(await inLog(trial, "one")).toEqual(["a1", "a2"]);
		expect(await inLog(trial, "two")).toEqual(["b1", "b2"]);
		expect(await inLog(trial, "three")).toEqual([]);
		expect(await inLog(trial, "one", "a")).toEqual(["a1", "a2"]);
		expect(await inLog(trial, "two", "a")).toEqual([]);
		expect((await trial.store.logs(trial.home)).logs).toEqual(["one", "two"]);
		await trial.reopen();
		expect((await trial.store.logs(trial.home)).logs).toEqual(["one", "two"]);
	});

	test("a unit that is lost appends to no log, those beside it do", async (trial) => {
		const { results } = await trial.commit([
			unit({ events: [event("a", "a1", 1, { log: "one" })] }),
			unit({
				expected: [["absent", 9]],
				events: [event("a", "lost", 1, { log: "one" }), event("b", "lost", 1, { log: "two" })],
			}),
			unit({ events: [event("a", "a2", 1, { log: "one" })] }),
		]);
		expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
		expect(await inLog(trial, "one")).toEqual(["a1", "a2"]);
		expect(await inLog(trial, "two")).toEqual([]);
		expect((await trial.store.logs(trial.home)).logs).toEqual(["one"]);
	});

	test("an event is read by its owner and by its group, in one order", async (trial) => {
		await trial.apply([unit({ events: [event("flow", "f1"), event("a", "a1", 1, { group: "flow" })] })]);
		await trial.apply([
			unit({ events: [event("b", "b1", 2, { group: "flow" })] }),
			unit({ events: [event("c", "alone", 2)] }),
			unit({ events: [event("a", "a2", 2, { group: "flow" }), event("flow", "f2", 2)] }),
		]);
		expect(await trial.bodies("flow")).toEqual(["f1", "a1", "b1", "a2", "f2"]);
		expect(await trial.bodies("a")).toEqual(["a1", "a2"]);
		expect(await trial.bodies("b")).toEqual(["b1"]);
		const { events } = await trial.store.events(trial.home, LOG, "flow", undefined, 3);
		expect(events.map(({ owner, group }) => [owner, group])).toEqual([
			["flow", undefined],
			["a", "flow"],
			["b", "flow"],
		]);
		const rest = await trial.store.events(trial.home, LOG, "flow", events.at(-1), 10);
		expect(rest.events.map(({ body }) => body)).toEqual(["a2", "f2"]);
	});

	test("a group keeps the events of owners that are gone until they are trimmed", async (trial) => {
		await trial.apply([
			unit({ events: [event("a", "a1", 10, { group: "flow" }), event("b", "b1", 20, { group: "flow" })] }),
		]);
		await trial.apply([unit({ forgotten: gone("a") })]);
		expect(await trial.bodies("a")).toEqual([]);
		expect(await trial.bodies("flow")).toEqual(["a1", "b1"]);
		expect((await trial.store.trimEvents(trial.home, 15)).trimmed).toBe(1);
		expect(await trial.bodies("flow")).toEqual(["b1"]);
	});

	test("a group that is gone leaves its members' events to their owners", async (trial) => {
		await trial.apply([unit({ events: [event("flow", "f1", 10), event("a", "a1", 10, { group: "flow" })] })]);
		await trial.apply([unit({ forgotten: gone("flow") })]);
		expect(await trial.bodies("flow")).toEqual([]);
		expect(await trial.bodies("a")).toEqual(["a1"]);
		expect((await trial.store.trimEvents(trial.home, 100)).trimmed).toBe(1);
		expect(await trial.bodies()).toEqual(["a1"]);
		await trial.apply([unit({ events: [event("a", "a2", 20, { group: "flow" })] })]);
		expect(await trial.bodies("flow")).toEqual(["a2"]);
	});

	test("a long history is read whole, from any place, and is gone whole", async (trial) => {
		const count = 300;
		for (let n = 0; n < count; n++) await trial.apply([unit({ events: [event("a", `${n}`, n), event("b", "b")] })]);
		const all = Array.from({ length: count }, (_, n) => `${n}`);
		const read = (after: LogPosition | undefined, most: number) =>
			trial.store.events(trial.home, LOG, "a", after, most).then(({ events }) => events);
		const events = await read(undefined, 1000);
		expect(events.map(({ body }) => body)).toEqual(all);
		for (const from of [0, 1, 63, 64, 120, 298, 299]) {
			const page = await read(events[from], 7);
			expect(page.map(({ body }) => body)).toEqual(all.slice(from + 1, from + 8));
		}
		await trial.apply([unit({ forgotten: gone("a") })]);
		expect(await trial.bodies("a")).toEqual([]);
		expect((await trial.store.oldestForgotten(trial.home)).at).toBe(0);
		expect((await trial.store.trimEvents(trial.home, 200)).trimmed).toBe(200);
		expect((await trial.store.oldestForgotten(trial.home)).at).toBe(200);
		expect((await trial.store.trimEvents(trial.home, 1000)).trimmed).toBe(100);
		expect((await trial.store.oldestForgotten(trial.home)).at).toBeUndefined();
		await trial.apply([unit({ events: [event("a", "again")] })]);
		expect(await trial.bodies("a")).toEqual(["again"]);
	});

	test("a log that everything was trimmed from is no longer named, until something is appended", async (trial) => {
		await trial.apply([unit({ events: [event("a", "1", 10)], forgotten: gone("a") })]);
		expect((await trial.store.logs(trial.home)).logs).toEqual([LOG]);
		expect((await trial.store.trimEvents(trial.home, 100)).trimmed).toBe(1);
		expect((await trial.store.logs(trial.home)).logs).toEqual([]);
		await trial.apply([unit({ events: [event("b", "2", 200)] })]);
		expect((await trial.store.logs(trial.home)).logs).toEqual([LOG]);
		expect(await trial.bodies()).toEqual(["2"]);
	});
}
