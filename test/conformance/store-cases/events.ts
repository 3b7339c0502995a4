import { expect } from "vitest";
import type { LogPosition } from "../../../src/store/port.ts";
import { type Case, event, gone, LOG, put, type Trial, unit } from "../trial.ts";

const append = (trial: Trial, ...events: ReturnType<typeof event>[]): Promise<number> =>
	trial.apply([unit({ events })]);

const forget = (trial: Trial, ...owners: string[]): Promise<number> =>
	trial.apply([unit({ forgotten: gone(...owners) })]);

export function eventCases(test: Case): void {
	test("nothing is told of an unknown owner, nor of an empty partition", async (trial) => {
		expect(await trial.bodies("nobody")).toEqual([]);
		expect(await trial.bodies()).toEqual([]);
	});

	test("an event reads back with its commit and its place in it", async (trial) => {
		const first = await append(trial, event("a", "1", 10), event("b", "2", 11));
		const second = await append(trial, event("a", "3", 12));
		const { events } = await trial.store.events(trial.home, LOG, undefined, undefined, 10);
		expect(events).toEqual([
			{ log: LOG, owner: "a", at: 10, body: "1", commit: first, index: 0 },
			{ log: LOG, owner: "b", at: 11, body: "2", commit: first, index: 1 },
			{ log: LOG, owner: "a", at: 12, body: "3", commit: second, index: 0 },
		]);
		const history = await trial.store.events(trial.home, LOG, "a", undefined, 10);
		expect(history.events).toEqual([events[0], events[2]]);
	});

	test("events of a batch are numbered through, over its units", async (trial) => {
		const units = ["1", "2", "3"].map((body) => unit({ events: [event("a", body), event("b", body)] }));
		await trial.apply(units);
		const { events } = await trial.store.events(trial.home, LOG, undefined, undefined, 10);
		expect(events.map(({ owner, body, index }) => `${index}${owner}${body}`)).toEqual([
			"0a1",
			"1b1",
			"2a2",
			"3b2",
			"4a3",
			"5b3",
		]);
	});

	test("events of a lost unit are not told, those of the others keep their order", async (trial) => {
		const { results } = await trial.commit([
			unit({ events: [event("a", "1")] }),
			{ ...put("x", "lost", 9), events: [event("a", "lost")] },
			unit({ events: [event("a", "2")] }),
		]);
		expect(results.map(({ ok }) => ok)).toEqual([true, false, true]);
		const { events } = await trial.store.events(trial.home, LOG, undefined, undefined, 10);
		expect(events.map(({ body, index }) => `${index}:${body}`)).toEqual(["0:1", "2:2"]);
	});

	test("a cursor goes on behind its event, in a history and in the log", async (trial) => {
		await trial.apply(
			Array.from({ length: 5 }, (_, n) => unit({ events: [event("a", `a${n}`), event("b", `b${n}`)] })),
		);
		await append(trial, event("a", "a5"), event("b", "b5"));
		for (const owner of ["a", "b", undefined]) {
			const seen: string[] = [];
			let after: LogPosition | undefined;
			for (;;) {
				const { events } = await trial.store.events(trial.home, LOG, owner, after, 4);
				if (events.length === 0) break;
				seen.push(...events.map(({ body }) => body));
				after = events.at(-1);
			}
			expect(seen).toEqual(await trial.bodies(owner));
			expect(seen).toHaveLength(owner ? 6 : 12);
		}
	});

	test("no more events come than were asked for", async (trial) => {
		await append(trial, event("a", "1"), event("a", "2"), event("a", "3"));
		expect((await trial.store.events(trial.home, LOG, "a", undefined, 2)).events.map(({ body }) => body)).toEqual([
			"1",
			"2",
		]);
		expect((await trial.store.events(trial.home, LOG, undefined, undefined, 1)).events).toHaveLength(1);
	});

	test("a forgotten owner's history is gone, but stays in the log", async (trial) => {
		await append(trial, event("a", "1"), event("b", "2"), event("a", "3"));
		await forget(trial, "a");
		expect(await trial.bodies("a")).toEqual([]);
		expect(await trial.bodies("b")).toEqual(["2"]);
		expect(await trial.bodies()).toEqual(["1", "2", "3"]);
	});

	test("an event of the unit that forgets its owner counts as appended before", async (trial) => {
		await append(trial, event("a", "1"));
		await trial.apply([unit({ events: [event("a", "last")], forgotten: gone("a") })]);
		expect(await trial.bodies("a")).toEqual([]);
		expect(await trial.bodies()).toEqual(["1", "last"]);
	});

	test("what is appended after an owner was forgotten is its history again", async (trial) => {
		await append(trial, event("a", "old"));
		await trial.apply([unit({ forgotten: gone("a") }), unit({ events: [event("a", "new")] })]);
		await append(trial, event("a", "newer"));
		expect(await trial.bodies("a")).toEqual(["new", "newer"]);
		expect(await trial.bodies()).toEqual(["old", "new", "newer"]);
	});

	test("forgetting an owner without events is harmless", async (trial) => {
		await append(trial, event("a", "1"));
		await forget(trial, "nobody", "nobody");
		expect(await trial.bodies()).toEqual(["1"]);
	});

	test("trimming lets go of forgotten events older than asked, and of nothing else", async (trial) => {
		await append(
			trial,
			event("gone", "g1", 10),
			event("kept", "k1", 10),
			event("gone", "g2", 20),
			event("gone", "g3", 30),
		);
		await forget(trial, "gone");
		expect((await trial.store.trimEvents(trial.home, 20)).trimmed).toBe(1);
		expect(await trial.bodies()).toEqual(["k1", "g2", "g3"]);
		expect((await trial.store.trimEvents(trial.home, 20)).trimmed).toBe(0);
		expect((await trial.store.trimEvents(trial.home, 1000)).trimmed).toBe(2);
		expect(await trial.bodies()).toEqual(["k1"]);
		expect(await trial.bodies("kept")).toEqual(["k1"]);
	});

	test("a cursor goes on where it stood when its event was trimmed", async (trial) => {
		await append(trial, event("gone", "g1"), event("kept", "k1"));
		await append(trial, event("kept", "k2"));
		const [first] = (await trial.store.events(trial.home, LOG, undefined, undefined, 1)).events;
		await forget(trial, "gone");
		await trial.store.trimEvents(trial.home, 1000);
		const { events } = await trial.store.events(trial.home, LOG, undefined, first, 10);
		expect(events.map(({ body }) => body)).toEqual(["k1", "k2"]);
	});

	test("thousands of forgotten events are trimmed in one call", async (trial) => {
		for (let n = 0; n < 3; n++) {
			await append(trial, ...Array.from({ length: 900 }, (_, i) => event(`owner-${i % 50}`, "x", i)));
		}
		await append(trial, event("kept", "kept"));
		await forget(trial, ...Array.from({ length: 50 }, (_, i) => `owner-${i}`));
		expect((await trial.store.trimEvents(trial.home, 10_000)).trimmed).toBe(2700);
		expect(await trial.bodies()).toEqual(["kept"]);
	});

	test("owners that one commit told of go one after the other, and nothing of them stays", async (trial) => {
		const trim = async (before: number) => (await trial.store.trimEvents(trial.home, before)).trimmed;
		await append(trial, event("a", "a1", 10), event("b", "b1", 10), event("c", "c1", 30));
		await forget(trial, "a");
		expect(await trim(20)).toBe(1);
		await forget(trial, "b", "c");
		await append(trial, event("b", "b2", 10));
		expect(await trim(20)).toBe(1);
		expect(await trial.bodies()).toEqual(["c1", "b2"]);
		expect(await trim(40)).toBe(1);
		await forget(trial, "b");
		expect(await trim(40)).toBe(1);
		expect(await trial.bodies()).toEqual([]);
		await append(trial, event("d", "d1"));
		expect(await trial.bodies()).toEqual(["d1"]);
	});

	test("two who trim at once let go of every event once", async (trial) => {
		for (let n = 0; n < 20; n++) await append(trial, event(`gone-${n}`, "x", 10), event("kept", "kept", 10));
		await forget(trial, ...Array.from({ length: 20 }, (_, n) => `gone-${n}`));
		const trims = await Promise.all([1, 2, 3].map(() => trial.store.trimEvents(trial.home, 20)));
		expect(trims.reduce((sum, { trimmed }) => sum + trimmed, 0)).toBe(20);
		expect(new Set(await trial.bodies())).toEqual(new Set(["kept"]));
	});

	test("what is forgotten while others are trimmed goes with the next trim", async (trial) => {
		// A trim is several steps: owners are forgotten after each of them.
		for (let steps = 0; steps < 8; steps++) {
			await append(trial, event("before", "x", 10), event("meanwhile", "x", 10));
			await forget(trial, "before");
			const trimming = trial.store.trimEvents(trial.home, 20);
			for (let step = 0; step < steps; step++) await trial.store.read(trial.home, []);
			await Promise.all([trimming, forget(trial, "meanwhile")]);
			await trial.store.trimEvents(trial.home, 20);
			expect(await trial.bodies(), `${steps} steps`).toEqual([]);
		}
	});

	test("an event of 32 KiB is kept", async (trial) => {
		const body = JSON.stringify({ text: "långt, ".repeat(4096) });
		await append(trial, event("a", body));
		expect(await trial.bodies("a")).toEqual([body]);
	});
}
