import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { STORE_CALLS } from "../conformance/store-traffic.ts";

const MINUTE = 60_000;
const SWEEP_EVERY = 5 * MINUTE;

/** Every question put to the store, by name. */
function countCalls(store: Store): Record<string, number> {
	const calls: Record<string, number> = {};
	for (const name of [...STORE_CALLS, "watch"] as const) {
		const original = store[name].bind(store) as (...given: unknown[]) => unknown;
		(store as unknown as Record<string, unknown>)[name] = (...given: unknown[]) => {
			calls[name] = (calls[name] ?? 0) + 1;
			return original(...given);
		};
	}
	return calls;
}

it("an engine with nothing to do asks the store nothing between two sweeps but whether it is there", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(8, clock.now);
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	await engine.start();
	const { executions, leases } = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const waiting = (): Promise<unknown> => leases.claim({ workerId: "w", instanceId: "i", waitMs: 30_000 });
	const { id } = await executions.create({ kind: "job", delayMs: 60 * MINUTE });
	const reader = executions.wait(id, { timeoutMs: 60 * MINUTE });
	// Whether the registry has who claims is asked with its first claim, and then once a minute.
	await leases.claim({ workerId: "w", instanceId: "i" });
	await clock.settle();

	const calls = countCalls(store);
	const claims = [waiting(), waiting(), waiting()];
	await clock.advance(30_000);
	await Promise.all(claims);
	await clock.advance(SWEEP_EVERY - MINUTE);
	// Before the claims were told that there is no work, all three together.
	expect(calls).toEqual({ read: 1 });
	await clock.advance(MINUTE);
	// The first sweep: whether a partition has changed, and those that have, the keyring's and the execution's; events that may go; whether work is blocked;
	// who holds budgets and quotas, and who spent; flows of half of them; every record and index entry; one look for who waits.
	const first = { first: 2 + 2, queues: 2 + 8 + 8 + 3 * 8 + 4, oldestForgotten: 8, scan: 8, standing: 1 };
	expect(calls).toEqual({ ...first, lastCommit: 8, read: 1 + 1 + 2 });
	await clock.advance(SWEEP_EVERY);
	// The second: flows of the other half.
	expect(calls).toEqual({ ...first, queues: first.queues + 4, lastCommit: 16, read: 1 + 2 + 2 });
	await engine.close();
	await reader.catch(() => {});
});

it("an engine of 256 partitions with 10 waiting workers makes fewer than 2 calls a second", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(256, clock.now, true);
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	await engine.start();
	const backend = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	let working = true;
	const work = async (instanceId: string) => {
		while (working) await backend.leases.claim({ workerId: "w", instanceId, waitMs: 30_000 });
	};
	const workers = Array.from({ length: 10 }, (_, n) => work(`worker ${n}`));
	await clock.advance(1000);

	const calls = countCalls(store);
	await clock.advance(5 * MINUTE);
	const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
	process.stdout.write(`idle for 5 minutes: ${total} calls ${JSON.stringify(calls)}\n`);
	expect(total / 300).toBeLessThan(2);
	expect(calls.lastCommit).toBe(256);
	working = false;
	await backend.close();
	await Promise.all(workers);
});
