import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import { StoreError } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

it("what could not be released when a worker came is released once the store answers again", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 1000 });
	const { executions, leases, workers } = backend;
	await engine.start();
	const { id } = await executions.create({ kind: "job", requiredCapabilities: ["gpu"] });
	await leases.claim({ workerId: "w", instanceId: "unable" });
	expect((await executions.get(id)).state.eligibilityState).toBe("blocked_by_route");

	const { queues } = store;
	store.queues = async () => {
		throw new StoreError("nobody there", { applied: "no" });
	};
	const offer = { workerId: "w", capabilities: ["gpu"], lanes: ["default"] };
	await expect(workers.register("able", offer)).rejects.toMatchObject({ code: "store_unavailable" });
	await clock.advance(3000);
	store.queues = queues;
	// It said so once more, and is not new any longer.
	await workers.register("able", offer);
	await clock.advance(1000);
	expect((await executions.get(id)).state.eligibilityState).toBe("eligible_now");
	await backend.close();
});

it("a claim is given work that comes while a slow store is asked who could serve the rest", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(1, clock.now);
	const engine = new Engine({ store, clock });
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 1000 });
	const { executions, leases } = backend;
	await engine.start();
	await executions.create({ kind: "job", requiredCapabilities: ["gpu"] });
	const first = store.first.bind(store);
	let asked = false;
	store.first = (partition, queue, ...given) => {
		if (!queue.startsWith("workers,")) return first(partition, queue, ...given);
		asked = true;
		return new Promise(() => {});
	};
	const claimed = leases.claim({ workerId: "w", instanceId: "i", waitMs: 500 });
	await clock.advance(1);
	expect(asked).toBe(true);
	const { id } = await executions.create({ kind: "job" });
	await clock.advance(100);
	expect(await Promise.race([claimed, "nothing yet"])).toMatchObject([{ id }]);
});
