import { expect } from "vitest";
import { IndexMender } from "../../../src/engine/duties/index-mender.ts";
import { type AskPartition, type DriftedEntry, IndexWalk } from "../../../src/engine/duties/index-walk.ts";
import { kernel } from "../../../src/kernel/kernel.ts";
import { encode } from "../../../src/kernel/record-types.ts";
import { makeExecution } from "../../../src/kernel/records/execution.ts";
import { ticketKey } from "../../../src/kernel/records/ticket.ts";
import { delayed, eligible } from "../../../src/kernel/state.ts";
import type { IndexEntry, Unit } from "../../../src/store/port.ts";
import { type Case, entry, put, remove, type Trial, unit } from "../trial.ts";

const idOf = (n: number): string => `ex_${String(n).padStart(32, "0")}_7`;

const docOf = (n: number, delayUntil = 0): string => {
	const state =
		delayUntil > 0 ? delayed("waiting_for_delay", "pending_first_attempt") : eligible("pending_first_attempt");
	const record = makeExecution({ id: idOf(n), kind: "job", createdAt: 1000 + n, delayUntil, ...state });
	return encode(idOf(n), record);
};

const placesOf = (n: number, delayUntil = 0): IndexEntry[] =>
	kernel
		.placement(idOf(n), kernel.decode(idOf(n), docOf(n, delayUntil)))
		.map(({ queue, score }) => ({ queue, score, key: idOf(n) }));

/** An execution as an engine stores it. */
const stored = (n: number, delayUntil = 0): Unit =>
	unit({
		expected: [[idOf(n), 0]],
		put: [{ key: idOf(n), doc: docOf(n, delayUntil) }],
		indexAdded: placesOf(n, delayUntil),
	});

const askerOf =
	(trial: Trial): AskPartition =>
	(question) =>
		question(trial.store, trial.home);

async function driftOf(trial: Trial): Promise<DriftedEntry[]> {
	const walk = new IndexWalk(askerOf(trial), kernel);
	const drift: DriftedEntry[] = [];
	for (let page = await walk.step(); page; page = await walk.step()) drift.push(...page.drift);
	return drift;
}

async function mend(trial: Trial, drift: readonly DriftedEntry[], by = "mender"): Promise<DriftedEntry[]> {
	return new IndexMender(by).mend(askerOf(trial), drift);
}

const bare = (drift: readonly DriftedEntry[]) =>
	drift.map(({ problem, queue, score, key }) => `${problem} ${queue} ${score} ${key}`).sort();

const named = (problem: string, entries: readonly IndexEntry[]) =>
	entries.map(({ queue, score, key }) => `${problem} ${queue} ${score} ${key}`).sort();

export function indexRepairCases(test: Case): void {
	test("an index that is what the records say is left alone", async (trial) => {
		await trial.apply([stored(1), stored(2, 5000), stored(3)]);
		const { commit } = await trial.store.lastCommit(trial.home);
		expect(await driftOf(trial)).toEqual([]);
		expect((await trial.store.lastCommit(trial.home)).commit).toBe(commit);
	});

	test("what a record wants and does not have is put back", async (trial) => {
		await trial.apply([stored(1), stored(2, 5000), stored(3)]);
		const lost = [...placesOf(1), ...placesOf(2, 5000).filter(({ queue }) => queue === "due")];
		await trial.apply([unit({ indexRemoved: lost })]);
		const drift = await driftOf(trial);
		expect(bare(drift)).toEqual(named("missing", lost));
		expect(await mend(trial, drift)).toHaveLength(lost.length);
		expect((await trial.store.standing(trial.home, lost)).standing).toEqual(lost.map(() => true));
		expect(await driftOf(trial)).toEqual([]);
	});

	test("what nobody wants is taken out: of a record that is gone, that moved on, or that never was", async (trial) => {
		await trial.apply([stored(1), stored(2)]);
		const { version } = await trial.record(idOf(1));
		await trial.apply([remove(idOf(1), version)]);
		const strange = [
			entry("due", 77, idOf(2)),
			entry("list,default,default,failed", 5, idOf(2)),
			entry("q", 1, "ghost"),
		];
		await trial.apply([unit({ indexAdded: strange })]);
		const drift = await driftOf(trial);
		expect(bare(drift)).toEqual(named("stale", [...placesOf(1), ...strange]));
		await mend(trial, drift);
		expect(await driftOf(trial)).toEqual([]);
		expect(await trial.queues()).toEqual(
			placesOf(2)
				.map(({ queue }) => queue)
				.sort(),
		);
	});

	test("an entry at the wrong place moves to the right one", async (trial) => {
		await trial.apply([stored(1)]);
		const [place] = placesOf(1) as [IndexEntry];
		await trial.apply([unit({ indexRemoved: [place], indexAdded: [{ ...place, score: place.score + 9 }] })]);
		await mend(trial, await driftOf(trial));
		expect((await trial.store.first(trial.home, place.queue, 10)).entries).toEqual([
			{ key: place.key, score: place.score },
		]);
	});

	test("a record that cannot be read, or of a kind nobody knows, keeps its entries", async (trial) => {
		await trial.apply([stored(1), put("novelty:1", "{}")]);
		const { version } = await trial.record(idOf(1));
		await trial.apply([put(idOf(1), "{", version), unit({ indexAdded: [entry("novelties", 1, "novelty:1")] })]);
		expect(await driftOf(trial)).toEqual([]);
	});

	test("a repair for a version that is no more changes nothing", async (trial) => {
		await trial.apply([stored(1), stored(2)]);
		await trial.apply([unit({ indexRemoved: placesOf(1) }), unit({ indexAdded: [entry("due", 77, idOf(2))] })]);
		const drift = await driftOf(trial);
		const { version } = await trial.record(idOf(1));
		await trial.apply([
			unit({ expected: [[idOf(1), version]], removed: [idOf(1)] }),
			put(idOf(2), docOf(2, 77), (await trial.record(idOf(2))).version),
		]);
		expect(await mend(trial, drift)).toEqual([]);
		expect(await trial.keys("due")).toEqual([idOf(2)]);
		expect((await trial.store.standing(trial.home, placesOf(1))).standing).toEqual(placesOf(1).map(() => false));
	});

	test("two who mend the same at once do it once", async (trial) => {
		await trial.apply([stored(1)]);
		const lost = placesOf(1);
		await trial.apply([unit({ indexRemoved: lost })]);
		const drift = await driftOf(trial);
		await Promise.all([mend(trial, drift, "one"), mend(trial, drift, "two")]);
		expect(await driftOf(trial)).toEqual([]);
		const { queues } = await trial.store.queueSizes(trial.home, "");
		expect(queues).toEqual(lost.map(({ queue }) => ({ queue, size: 1 })).sort((a, b) => (a.queue < b.queue ? -1 : 1)));
	});

	test("work under a fairness key that nothing leads to any more gets a ticket", async (trial) => {
		const id = idOf(1);
		const state = eligible("pending_first_attempt");
		const work = makeExecution({ id, kind: "job", createdAt: 1000, fairnessKey: "tenant", ...state });
		const indexAdded = kernel.placement(id, work).map((place) => ({ ...place, key: id }));
		await trial.apply([unit({ expected: [[id, 0]], put: [{ key: id, doc: encode(id, work) }], indexAdded })]);
		const drift = await driftOf(trial);
		expect(drift.map(({ queue, problem }) => [queue, problem])).toEqual([["eligible,default,default,,job", "missing"]]);
		await mend(trial, drift);
		expect(await trial.keys("eligible,default,default,,job")).toEqual([ticketKey(work)]);
		expect((await trial.record(ticketKey(work))).version).toBeGreaterThan(0);
		expect(await driftOf(trial)).toEqual([]);
		// Said again, or after the work has gone on, it makes none.
		await trial.apply([remove(ticketKey(work), (await trial.record(ticketKey(work))).version)]);
		await trial.apply([remove(id, (await trial.record(id)).version)]);
		expect(await mend(trial, drift, "late")).toEqual([]);
	});

	test("what moves while it is looked at is not taken for drift", async (trial) => {
		await trial.apply([stored(1)]);
		let until = 0;
		/** The execution is delayed, then delayed longer, right before each question but those that only read it. */
		const move = async () => {
			const { version } = await trial.record(idOf(1));
			const before = placesOf(1, until);
			until += 5000;
			const moved = {
				put: [{ key: idOf(1), doc: docOf(1, until) }],
				indexRemoved: before,
				indexAdded: placesOf(1, until),
			};
			await trial.apply([unit({ expected: [[idOf(1), version]], ...moved })]);
		};
		let asked = 0;
		const walk = new IndexWalk(async (question) => {
			if (++asked % 2 === 0 && asked < 30) await move();
			return question(trial.store, trial.home);
		}, kernel);
		const drift: DriftedEntry[] = [];
		for (let page = await walk.step(); page; page = await walk.step()) drift.push(...page.drift);
		expect(until).toBeGreaterThan(5000);
		expect(drift).toEqual([]);
	});

	test("a walk finds everything however many pages it takes", async (trial) => {
		const all = Array.from({ length: 700 }, (_, n) => n + 1);
		for (let n = 0; n < all.length; n += 50) await trial.apply(all.slice(n, n + 50).map((each) => stored(each)));
		const lost = all.filter((n) => n % 97 === 0).flatMap((n) => placesOf(n).slice(0, 1));
		const [{ queue: listed }] = placesOf(1) as [IndexEntry];
		const strange = all.filter((n) => n % 101 === 0).map((n) => entry(listed, n, idOf(n)));
		await trial.apply([unit({ indexRemoved: lost, indexAdded: strange })]);
		const drift = await driftOf(trial);
		expect(new Set(bare(drift))).toEqual(new Set([...named("missing", lost), ...named("stale", strange)]));
		await mend(trial, drift);
		expect(await driftOf(trial)).toEqual([]);
	});
}
