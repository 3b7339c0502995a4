import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { trustedSlot } from "../../src/kernel/ids.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const PARTITIONS = 2;
const who = { workerId: "w", instanceId: "w-1", max: 8 };

/** So much work in one partition, then as much in the other, and so on, each later by so many milliseconds. */
async function open({ count = 32, times = PARTITIONS, laterMs = 0 } = {}) {
	const clock = new VirtualClock();
	const engine = new Engine({ store: new MemoryStore(PARTITIONS, clock.now), clock });
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	await engine.start();
	const items = Array.from({ length: count }, () => ({ kind: "job" }));
	for (let n = 0; n < times; n++) {
		await backend.executions.createMany(items);
		await clock.advance(laterMs);
	}
	return { backend, close: () => backend.close() };
}

const partitionsOf = (claimed: { id: string }[]) => [...new Set(claimed.map(({ id }) => trustedSlot(id) % PARTITIONS))];

it("claims served side by side take from several partitions what is as good", async () => {
	const { backend, close } = await open();
	const both = await Promise.all([backend.leases.claim(who), backend.leases.claim(who)]);
	expect(both.flatMap(partitionsOf).sort()).toEqual([0, 1]);
	await close();
});

it("claims one after the other take the very best, wherever it is", async () => {
	const { backend, close } = await open();
	const first = await backend.leases.claim(who);
	const second = await backend.leases.claim(who);
	expect(partitionsOf([...first, ...second])).toHaveLength(1);
	await close();
});

it("a claim for several takes them from one partition, unless what lies elsewhere is older by much", async () => {
	for (const { laterMs, partitions } of [
		{ laterMs: 49, partitions: 1 },
		{ laterMs: 51, partitions: 2 },
	]) {
		const { backend, close } = await open({ count: 4, times: 3, laterMs });
		const claimed = await backend.leases.claim(who);
		expect(claimed).toHaveLength(8);
		expect(partitionsOf(claimed)).toHaveLength(partitions);
		await close();
	}
});

it("what was made in the same millisecond is handed out in the order it was made, whatever was heard of first", async () => {
	const { backend, close } = await open({ count: 1, times: 2 });
	const made = await backend.leases.claim(who);
	expect(partitionsOf(made)).toHaveLength(2);
	for (const { id, lease } of made.toReversed())
		await backend.leases.release(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
	const again = await backend.leases.claim(who);
	expect(again.map(({ id }) => id)).toEqual(made.map(({ id }) => id));
	await close();
});

it("a claim whose work another took first is given what is left", async () => {
	const clock = new VirtualClock();
	const engine = new Engine({ store: new MemoryStore(1, clock.now), clock });
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	await engine.start();
	await backend.executions.create({ kind: "older" });
	await clock.advance(1);
	await backend.executions.create({ kind: "younger" });
	const one = { ...who, max: 1 };
	const [first, second] = await Promise.all([backend.leases.claim(one), backend.leases.claim(one)]);
	expect([...first, ...second].map(({ kind }) => kind)).toEqual(["older", "younger"]);
	await backend.close();
});
