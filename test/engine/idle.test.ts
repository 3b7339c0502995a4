import { expect, it } from "vitest";
import { Engine } from "../../src/engine/engine.ts";
import { LocalBackend } from "../../src/engine/local-backend.ts";
import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { VirtualClock } from "../virtual-clock.ts";

const MINUTE = 60_000;
const SWEEP_EVERY = 5 * MINUTE;

/** Every question put to the store, by name. */
function countCalls(store: Store): Record<string, number> {
	const calls: Record<string, number> = {};
	for (const name of ["read", "readBlobs", "first", "queues", "commit", "events", "trimEvents", "scan"] as const) {
		const original = store[name].bind(store) as (...given: unknown[]) => unknown;
		(store as unknown as Record<string, unknown>)[name] = (...given: unknown[]) => {
			calls[name] = (calls[name] ?? 0) + 1;
			return original(...given);
		};
	}
	return calls;
}

it("an engine with nothing to do asks the store nothing between two sweeps", async () => {
	const clock = new VirtualClock();
	const store = new MemoryStore(8, clock.now);
	const engine = new Engine({ store, clock });
	clock.watch(() => !engine.idle);
	await engine.start();
	const { executions, leases } = new LocalBackend({ engine, actor: "test", retentionMs: 0 });
	const waiting = (): Promise<unknown> => leases.claim({ workerId: "w", instanceId: "i", waitMs: 30_000 });
	const { id } = await executions.create({ kind: "job", delayMs: 60 * MINUTE });
	const reader = executions.wait(id, { timeoutMs: 60 * MINUTE });
	await clock.settle();

	const calls = countCalls(store);
	const claims = [waiting(), waiting(), waiting()];
	await clock.settle();
	const asked = { ...calls };
	await clock.advance(29_000);
	expect(calls).toEqual(asked);
	await clock.advance(1000);
	await Promise.all(claims);

	const before = { ...calls };
	await clock.advance(SWEEP_EVERY - MINUTE);
	expect(calls).toEqual(before);
	await clock.advance(MINUTE);
	// The sweep: per partition the head of the due queue, whether old events may go, and one look for who waits.
	expect((calls.first ?? 0) - (before.first ?? 0)).toBe(8);
	expect((calls.read ?? 0) - (before.read ?? 0)).toBe(8 + 1);
	expect(calls.events).toBe(8);
	expect(calls.trimEvents).toBeUndefined();
	expect(calls.commit).toBe(before.commit);
	await engine.close();
	await reader.catch(() => {});
});
