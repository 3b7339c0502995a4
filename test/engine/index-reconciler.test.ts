import { afterEach, describe, expect, it } from "vitest";
import type { Fault } from "../../src/engine/fault-log.ts";
import { slotOfId } from "../../src/kernel/ids.ts";
import { LIST } from "../../src/kernel/placement.ts";
import { type IndexEntry, StoreError, unitOf } from "../../src/store/port.ts";
import { EngineGroup, type Member } from "./engine-group.ts";

const SWEEP_MS = 300_000;
const DAY_MS = 86_400_000;
let group: EngineGroup;
let faults: Fault[];
afterEach(() => group.close());

const start = (name = "one"): Promise<Member> => group.start(name, { onFault: (fault) => faults.push(fault) });

async function begin(partitions: number): Promise<Member> {
	group = new EngineGroup(partitions);
	faults = [];
	return start();
}

/** Somebody's hand on the index. */
async function tamper(partition: number, change: { indexAdded?: IndexEntry[]; indexRemoved?: IndexEntry[] }) {
	const { time } = await group.store.read(partition, []);
	const number = ++tampered;
	await group.store.commit(partition, { engine: "hand", number, at: time, units: [unitOf(change)] });
}
let tampered = 0;

/** Entries of all executions in queues that begin so, and where they are. */
async function entriesIn(prefix: string): Promise<{ partition: number; entry: IndexEntry }[]> {
	const found: { partition: number; entry: IndexEntry }[] = [];
	for (let partition = 0; partition < group.store.partitions; partition++)
		for (const queue of (await group.store.queues(partition, prefix)).queues)
			for (const { key, score } of (await group.store.first(partition, queue, 10_000)).entries)
				if (key.startsWith("ex_")) found.push({ partition, entry: { queue, key, score } });
	return found;
}

async function losePrefix(prefix: string): Promise<number> {
	const found = await entriesIn(prefix);
	for (const { partition, entry } of found) await tamper(partition, { indexRemoved: [entry] });
	return found.length;
}

const rowOf = async ({ backend }: Member) =>
	(await backend.admin.scanners()).scanners.find(({ name }) => name === "index_reconciler");

/** Delayed work in all partitions. */
const spread = (count: number) =>
	Array.from({ length: count }, (_, n) => ({ kind: "job", delayMs: DAY_MS, idempotencyKey: `key ${n}` }));

/** Something new in one of these partitions. */
async function memberIn({ backend }: Member, partitions: number[]): Promise<{ partition: number }> {
	for (let n = 0; ; n++) {
		const { id } = await backend.executions.create({ kind: "job", idempotencyKey: `in ${n}` });
		const partition = (slotOfId("ex", id) ?? 0) % group.store.partitions;
		if (partitions.includes(partition)) return { partition };
	}
}

/** The same store with an engine that remembers nothing. */
async function restart(member: Member): Promise<Member> {
	await member.engine.close();
	group.forget(member);
	return start("another");
}

describe("the index reconciler", () => {
	it("gives work back to claims that had lost its place in the queue, whoever waits for it already", async () => {
		const first = await begin(2);
		const { id } = await first.backend.executions.create({ kind: "job" });
		expect(await losePrefix("eligible,")).toBe(1);
		const engine = await restart(first);
		engine.isDeaf = true;
		const claim = { workerId: "w", instanceId: "i", waitMs: 30_000 };
		expect(await engine.backend.leases.claim({ ...claim, waitMs: 0 })).toEqual([]);
		await group.clock.advance(SWEEP_MS - 10_000);
		const waiting = engine.backend.leases.claim(claim);
		await group.clock.advance(20_000);
		expect((await waiting).map((claimed) => claimed.id)).toEqual([id]);
		expect(await rowOf(engine)).toMatchObject({ runs: 1, items: 1, errors: 0 });
		const subjects = [expect.stringMatching(new RegExp(`^${id} in eligible,.* is there again$`))];
		expect(faults).toEqual([{ about: "index entries were repaired", error: undefined, count: 1, subjects }]);
	});

	it("lets time come for work that had lost its due time", async () => {
		const first = await begin(2);
		const { id } = await first.backend.executions.create({ kind: "job", delayMs: 1000 });
		expect(await losePrefix("due")).toBe(1);
		const engine = await restart(first);
		engine.isDeaf = true;
		const { backend } = engine;
		await group.clock.advance(SWEEP_MS - 1000);
		expect((await backend.executions.get(id)).publicState).toBe("delayed");
		await group.clock.advance(2000);
		expect((await backend.executions.get(id)).publicState).toBe("waiting");
	});

	it("shows work in lists again, and takes out what is of no execution", async () => {
		const { backend } = await begin(1);
		const { id } = await backend.executions.create({ kind: "job" });
		await losePrefix(LIST);
		await tamper(0, { indexAdded: [{ queue: "due", score: 5, key: "ghost" }] });
		expect((await backend.executions.list()).executions).toEqual([]);
		await group.clock.advance(SWEEP_MS + 1000);
		expect((await backend.executions.list()).executions.map((execution) => execution.id)).toEqual([id]);
		expect((await group.store.first(0, "due", 10)).entries.map(({ key }) => key)).not.toContain("ghost");
	});

	it("looks at a part of a large store in each sweep, goes on where it was, and holds up nobody", async () => {
		const member = await begin(1);
		const { backend } = member;
		for (let n = 0; n < 12; n++)
			await backend.executions.createMany(Array.from({ length: 1000 }, () => ({ kind: "job", delayMs: DAY_MS })));
		const last = (await entriesIn("due"))
			.map(({ entry }) => entry)
			.sort((a, b) => (a.key < b.key ? -1 : 1))
			.at(-1);
		await tamper(0, { indexRemoved: [last as IndexEntry] });
		await group.clock.advance(SWEEP_MS);
		const before = { ...member.calls };
		expect((await backend.executions.create({ kind: "job" })).created).toBe(true);
		await group.clock.advance(2000);
		const scanned = (member.calls.scan ?? 0) - (before.scan ?? 0);
		const asked = scanned + (member.calls.standing ?? 0) - (before.standing ?? 0);
		expect(scanned).toBeGreaterThan(20);
		expect(asked).toBeLessThanOrEqual(122);
		for (let sweeps = 1; sweeps < 10; sweeps++) await group.clock.advance(SWEEP_MS);
		expect(await rowOf(member)).toMatchObject({ items: 1, errors: 0 });
	});

	it("walks a partition again when it has changed, and others once a day", async () => {
		const member = await begin(4);
		const walked: number[] = [];
		const { scan } = group.store;
		group.store.scan = (at, ...given) => {
			walked.push(at);
			return scan.call(group.store, at, ...given);
		};
		const walkedIn = async (ms: number) => {
			walked.length = 0;
			await group.clock.advance(ms);
			// The first one changes whenever an engine says that it is there.
			return walked.filter((partition) => partition !== 0);
		};
		expect(await walkedIn(SWEEP_MS + 1000)).toEqual([1, 2, 3]);
		expect(await walkedIn(SWEEP_MS)).toEqual([]);
		expect(walked).toEqual([0]);
		const { partition } = await memberIn(member, [1, 2, 3]);
		expect(await walkedIn(SWEEP_MS)).toEqual([partition]);
		expect(await walkedIn(DAY_MS - 4 * SWEEP_MS)).toEqual([]);
		expect(await walkedIn(5 * SWEEP_MS)).toEqual([1, 2, 3]);
	});

	it("lets a partition that cannot be walked hold up no other, and tries it again", async () => {
		const first = await begin(4);
		await first.backend.executions.createMany(spread(40));
		const lost = await losePrefix("due");
		const partition = (await entriesIn(LIST))[0]?.partition ?? -1;
		const inIt = (await entriesIn(LIST)).filter((each) => each.partition === partition).length;
		const { scan } = group.store;
		group.store.scan = async (at, ...given) => {
			if (at === partition) throw new StoreError("nobody there", { applied: "no" });
			return scan.call(group.store, at, ...given);
		};
		const engine = await restart(first);
		await group.clock.advance(SWEEP_MS + 2000);
		expect(await rowOf(engine)).toMatchObject({ runs: 1, items: lost - inIt, errors: 1 });
		group.store.scan = scan;
		await group.clock.advance(SWEEP_MS);
		expect(await rowOf(engine)).toMatchObject({ runs: 2, items: lost, errors: 1 });
	});

	it("leaves what belongs to a record that cannot be read, and tells of it once", async () => {
		const { backend, ...member } = await begin(1);
		const { id } = await backend.executions.create({ kind: "job" });
		const { time } = await group.store.read(0, []);
		const spoil = unitOf({ put: [{ key: id, doc: "{" }] });
		await group.store.commit(0, { engine: "spoiler", number: 1, at: time, units: [spoil] });
		await group.clock.advance(3 * SWEEP_MS);
		expect(await rowOf({ backend, ...member })).toMatchObject({ items: 0, errors: 1 });
		expect(faults.filter(({ about }) => about.includes("left alone"))).toMatchObject([{ count: 1, subjects: [id] }]);
		expect(await entriesIn("eligible,")).toHaveLength(1);
	});

	it("is shared out among engines: each entry is mended once", async () => {
		const first = await begin(8);
		await first.backend.executions.createMany(spread(80));
		const lost = await losePrefix("due");
		const one = await restart(first);
		const two = await start("two");
		await group.meet();
		await group.clock.advance(SWEEP_MS + 2000);
		const [byOne, byTwo] = [(await rowOf(one))?.items ?? 0, (await rowOf(two))?.items ?? 0];
		expect(byOne + byTwo).toBe(lost);
		expect(Math.min(byOne, byTwo)).toBeGreaterThan(0);
	});
});
