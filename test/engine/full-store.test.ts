import { afterEach, beforeEach, expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { type Batch, hasWrites, StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** Reads as ever; while it is full nothing can be written. */
class FullStore extends MemoryStore {
	isFull = false;

	override async commit(partition: number, batch: Batch) {
		if (this.isFull && batch.units.some(hasWrites)) throw new StoreError("no room", { applied: "no" });
		return super.commit(partition, batch);
	}
}

let clock: VirtualClock;
let store: FullStore;
let backend: LocalBackend;

beforeEach(async () => {
	clock = new VirtualClock();
	store = new FullStore(1, clock.now);
	const engine = new Engine({ store, clock, onFault: () => {} });
	clock.watch(() => !engine.idle);
	await engine.start();
	backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
});
afterEach(() => backend.close());

const claim = async (leaseMs: number) => {
	const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "i", leaseMs });
	return { id: claimed?.id ?? "", leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
};

/** Somebody reads all the while, of what is not in memory. */
async function fullFor(ms: number): Promise<void> {
	store.isFull = true;
	for (let past = 0; past < ms; past += 500) {
		await backend.executions.list({ limit: 10 });
		await backend.executions.cancel(`ex_${"0".repeat(32)}_${past % 16384}`).catch(() => {});
		await clock.advance(500);
	}
	store.isFull = false;
}

it("what became due while the store was full is done as soon as there is room", async () => {
	const delayed = await backend.executions.create({ kind: "job", delayMs: 1000 });
	await fullFor(30_000);
	await clock.advance(1100);
	expect(await backend.executions.get(delayed.id)).toMatchObject({ publicState: "waiting" });
	const { scanners } = await backend.admin.scanners();
	expect(scanners.find(({ name }) => name === "due")).toMatchObject({ parked: 0 });
});

it("an item that fails while others can be written is still parked", async () => {
	const { id } = await backend.executions.create({ kind: "job", delayMs: 1000 });
	const { commit } = store;
	store.commit = async (partition, batch) => {
		if (batch.units.some(({ put }) => put.some(({ key }) => key === id)))
			throw new StoreError("not this", { applied: "no" });
		return commit.call(store, partition, batch);
	};
	for (let n = 0; n < 10; n++) {
		await clock.advance(500);
		await backend.executions.create({ kind: "other" });
	}
	const { scanners } = await backend.admin.scanners();
	expect(scanners.find(({ name }) => name === "due")).toMatchObject({ parked: 1 });
});

it("holders renew their leases first when there is room again, though it could be read all the while", async () => {
	await backend.executions.create({ kind: "job" });
	const { id, ...lease } = await claim(9000);
	await fullFor(20_000);
	// The lease lapsed long ago and has been looked at since; it is kept for a third of its time.
	await clock.advance(1500);
	const [renewed] = await backend.leases.renew({ leases: [{ executionId: id, ...lease }], leaseMs: 9000 });
	expect(renewed).toMatchObject({ ok: true });
	expect(await backend.executions.get(id)).toMatchObject({ publicState: "active", reclaims: 0 });
});
