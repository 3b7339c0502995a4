import { afterEach, expect, it } from "vitest";
import { EngineGroup, type Member } from "./engine-group.ts";

const group = new EngineGroup(1);
const claim = { workerId: "w", instanceId: "i", waitMs: 30_000, max: 16 };

afterEach(() => group.close());

/** What a claim that waits at one engine asks the store until it has got what is made at another. */
async function askedFor(at: Member, from: Member, count: number): Promise<Record<string, number>> {
	const waiting = at.backend.leases.claim(claim);
	await group.clock.settle();
	const before = { ...at.calls };
	await from.backend.executions.createMany(Array.from({ length: count }, (_, n) => ({ kind: "job", input: n })));
	const claimed = await waiting;
	const asked = ["first", "read", "commit"].map((name) => [name, (at.calls[name] ?? 0) - (before[name] ?? 0)]);
	expect(claimed.map(({ input }) => input)).toEqual(Array.from({ length: count }, (_, n) => n));
	for (const { id, lease } of claimed)
		await at.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
	await group.clock.settle();
	return Object.fromEntries(asked);
}

it("a claim that waits takes what another engine made without asking for it, if that is little", async () => {
	const [maker, taker] = [await group.start("maker"), await group.start("taker")];
	await group.meet();
	// Whether the lane is paused, and who claims, is asked once.
	await askedFor(taker, maker, 1);
	const { lost } = taker.engine.counters;
	expect(await askedFor(taker, maker, 1)).toEqual({ first: 0, read: 0, commit: 1 });
	expect(await askedFor(taker, maker, 4)).toEqual({ first: 0, read: 0, commit: 1 });
	expect(await askedFor(taker, maker, 5)).toEqual({ first: 1, read: 1, commit: 1 });
	expect(await askedFor(taker, maker, 1)).toEqual({ first: 0, read: 0, commit: 1 });
	expect(taker.engine.counters.lost).toBe(lost);
});
