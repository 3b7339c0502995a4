import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

/** A store that can be held up: whatever is committed meanwhile waits. */
async function opened() {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	await engine.start();
	let held: Promise<void> | undefined;
	clock.watch(() => !held && !engine.idle);
	const commit = store.commit.bind(store);
	store.commit = async (partition, batch) => {
		await held;
		return commit(partition, batch);
	};
	const hold = (): (() => Promise<void>) => {
		let release = () => {};
		held = new Promise((resolve) => (release = resolve));
		return async () => {
			held = undefined;
			release();
			await clock.settle();
		};
	};
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	return { clock, store, engine, hold, commit, backend };
}

it("leases that lapsed while a store took its time over a commit can be renewed first", async () => {
	const { clock, hold, backend } = await opened();
	const { id } = await backend.executions.create({ kind: "job" });
	const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "i", leaseMs: 3000 });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	await clock.advance(1000);
	const release = hold();
	const created = backend.executions.create({ kind: "job" });
	await clock.advance(4000);
	await release();
	await created;
	expect(await backend.leases.renew({ leases: [{ executionId: id, ...fence }] })).toMatchObject([{ ok: true }]);
	expect(await backend.executions.get(id)).toMatchObject({ publicState: "active", reclaims: 0 });
	await clock.advance(3001);
	expect(await backend.executions.get(id)).toMatchObject({ reclaims: 1 });
	await backend.close();
});

it("a commit that a store could not make yet is made when it can", async () => {
	const { clock, store, commit, backend } = await opened();
	clock.watch(() => false);
	let tries = 0;
	store.commit = async (partition, batch) => {
		if (++tries < 4) throw new StoreError("its slot is on the way", { applied: "no", passing: true });
		return commit(partition, batch);
	};
	const created = backend.executions.create({ kind: "job" });
	await clock.advance(5000);
	expect(await created).toMatchObject({ created: true });
	expect(tries).toBe(4);
	await backend.close();
});

it("a commit that a store refuses for good is not tried again", async () => {
	const { store, backend } = await opened();
	let tries = 0;
	store.commit = async () => {
		tries += 1;
		throw new StoreError("out of memory", { applied: "no" });
	};
	await expect(backend.executions.create({ kind: "job" })).rejects.toMatchObject({ code: "store_unavailable" });
	expect(tries).toBe(1);
	await backend.close();
});

it("what was remembered before an outage is read anew: a fail-over may have undone it", async () => {
	const { clock, store, hold, backend } = await opened();
	const { id } = await backend.executions.create({ kind: "job" });
	const [claimed] = await backend.leases.claim({ workerId: "w", instanceId: "i", leaseMs: 60_000 });
	const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
	const reads: string[] = [];
	const read = store.read.bind(store);
	store.read = (partition, keys) => {
		reads.push(...keys);
		return read(partition, keys);
	};
	await backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
	expect(reads).not.toContain(id);
	const release = hold();
	const created = backend.executions.create({ kind: "job" });
	await clock.advance(2000);
	await release();
	await created;
	expect(await backend.leases.renew({ leases: [{ executionId: id, ...fence }] })).toMatchObject([{ ok: true }]);
	expect(reads).toContain(id);
	await backend.close();
});

it("what a store said of a queue before a commit is not kept after it", async () => {
	const { clock, store, engine, hold, backend } = await opened();
	await backend.executions.create({ kind: "job" });
	const queue = (await store.queues(0, "")).queues.find((name) => name.includes("job")) ?? "";
	const runner = engine.runner(0);
	runner.heads.forget(queue);
	const release = hold();
	const created = backend.executions.create({ kind: "job" });
	await clock.settle();
	// The store has looked, but its answer stays behind that to the commit.
	const first = store.first.bind(store);
	store.first = async (...asked) => {
		const answer = await first(...asked);
		await created;
		return answer;
	};
	const looked = runner.look(queue, 16);
	await clock.settle();
	await release();
	expect(await looked).toHaveLength(1);
	store.first = first;
	expect(await runner.look(queue, 16)).toHaveLength(2);
	await backend.close();
});
