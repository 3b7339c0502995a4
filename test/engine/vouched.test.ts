import { afterEach, beforeEach, expect, it } from "vitest";
import { EngineGroup, type Member } from "./engine-group.ts";

const LEASE_MS = 30_000;
const COUNT = 16;
const who = { workerId: "w", instanceId: "i", max: COUNT, leaseMs: LEASE_MS };

let group: EngineGroup;
/** Due times that were told. */
let told: number;

beforeEach(() => {
	group = new EngineGroup(8);
	told = 0;
	group.store.onNotice(({ due }) => {
		if (due !== undefined) told += 1;
	});
});
afterEach(() => group.close());

/** Both have heard of each other, and each knows that. */
async function acquainted(): Promise<{ one: Member; two: Member }> {
	const [one, two] = [await group.start("one"), await group.start("two")];
	await group.meet();
	await group.meet();
	return { one, two };
}

/** Something in every partition. */
async function work({ backend }: Member): Promise<void> {
	for (let n = 0; n < COUNT; n++) await backend.executions.create({ kind: "job" });
}

/** One of two engines gives leases in all its partitions; a third has come to mind some, which the first has not heard. */
async function leasedBeforeHeard(): Promise<{ one: Member; third: Member }> {
	const { one } = await acquainted();
	await work(one);
	const third = await group.start("third");
	await group.clock.settle();
	expect(third.engine.share.engines).toBe(3);
	expect(one.engine.share).toEqual({ engines: 2, partitions: 4 });
	told = 0;
	expect(await one.backend.leases.claim(who)).toHaveLength(COUNT);
	expect(told).toBe(0);
	return { one, third };
}

const active = async ({ backend }: Member): Promise<number> =>
	(await backend.executions.list({ state: "active" })).executions.length;

it("an engine tells nobody of what is due where it minds that itself, and soon", async () => {
	const { one, two } = await acquainted();
	await work(one);
	told = 0;
	const claimed = await one.backend.leases.claim({ ...who, max: 1 });
	expect(claimed).toHaveLength(1);
	expect(told).toBe(0);
	await two.backend.leases.claim({ ...who, max: COUNT, leaseMs: 60_001 });
	expect(told).toBeGreaterThan(0);
});

it("what an engine vouched for ends on time, although another minds the partition by then", async () => {
	const { one, third } = await leasedBeforeHeard();
	await group.clock.advance(LEASE_MS - 1);
	expect(one.engine.share.partitions).toBeLessThan(4);
	expect(await active(third)).toBe(COUNT);
	await group.clock.advance(100);
	expect(await active(third)).toBe(0);
});

it("what an engine vouched for that died ends on time, although it was no longer its to mind", async () => {
	const { one, third } = await leasedBeforeHeard();
	await group.clock.advance(6000);
	expect(one.engine.share.partitions).toBeLessThan(4);
	one.die();
	await group.clock.advance(LEASE_MS - 6000 + 100);
	expect(await active(third)).toBe(0);
});

it("an engine that the others have not heard of yet vouches for nothing: should it die, nobody would look", async () => {
	const one = await group.start("one");
	await work(one);
	await group.meet();
	const two = await group.start("two");
	told = 0;
	expect(await two.backend.leases.claim(who)).toHaveLength(COUNT);
	expect(told).toBeGreaterThan(0);
	two.die();
	await group.clock.advance(LEASE_MS + 100);
	expect(one.engine.share.engines).toBe(1);
	expect(await active(one)).toBe(0);
});
