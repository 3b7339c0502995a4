import { expect, onTestFinished, test } from "vitest";
import type { LocalBackend } from "../../src/engine/local-backend.ts";
import type { HoldRequest } from "../../src/kernel/admission/holding.ts";
import { type GuardName, slotOfGuard } from "../../src/kernel/records/guard.ts";
import { openBackend } from "../../src/library/open.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";

const UUID = "0123456789abcdef0123456789abcdef";

async function stage() {
	const clock = new VirtualClock();
	const backend = await openBackend("memory:", { partitions: 8, testClock: { now: clock.now, clock } });
	clock.watch(() => !backend.engine.idle);
	onTestFinished(() => backend.close());
	return { backend, clock };
}

/** What a claim does to a budget or quota that lives elsewhere. */
const reserve = (backend: LocalBackend, guard: GuardName, requests: readonly HoldRequest[]) =>
	new Promise((resolve, reject) => {
		const runner = backend.engine.runnerOfSlot(slotOfGuard(guard));
		runner.enqueue({ op: "reserve", guard, requests, jitter: 0 }, resolve, reject, undefined, 0);
	});

const quota = { kind: "quota", namespace: "default", id: "openai" } as const;
const budget = { kind: "budget", namespace: "default", id: "team" } as const;

test("a quota shows a hundred of its holders, longest first, and counts the rest and its window", async () => {
	const { backend, clock } = await stage();
	await backend.quotas.create({ id: "openai", concurrency: 500, rate: { max: 500, windowMs: 1000 } });
	const { id } = await backend.executions.create({ kind: "job" });
	const holdIds = Array.from({ length: 250 }, (_, n) => `le_${n.toString(16).padStart(32, "0")}_7`);
	for (const holdId of holdIds) {
		await reserve(backend, quota, [{ executionId: id, holdId, until: clock.now() + 1000 }]);
		await clock.advance(1);
	}
	const start = clock.now() - 250;
	const shown = await backend.quotas.get("openai");
	expect(shown).toMatchObject({ concurrency: { max: 500, held: 250 }, rate: { counted: 250 }, holdersMore: 150 });
	expect(shown.holders).toEqual(
		holdIds.slice(0, 100).map((leaseId, n) => ({ executionId: id, leaseId, since: start + n })),
	);
	// The first hundred have left the window, though nobody wrote anything since.
	await clock.advance(1000 - 250 + 99);
	expect((await backend.quotas.get("openai")).rate?.counted).toBe(150);
	expect((await backend.quotas.list()).quotas[0]?.rate?.counted).toBe(150);
});

test("what began as a grant is shown as one until its execution is leased", async () => {
	const { backend, clock } = await stage();
	await backend.quotas.create({ id: "openai", concurrency: 5 });
	const granted = await backend.executions.create({ kind: "granted" });
	const leased = await backend.executions.create({ kind: "leased" });
	const [held] = await backend.leases.claim({ workerId: "w", instanceId: "w-1", kinds: ["leased"] });
	const leaseId = held?.lease.id ?? "";
	const slot = granted.id.slice(granted.id.lastIndexOf("_"));
	const until = clock.now() + 1000;
	await reserve(backend, quota, [
		{ executionId: granted.id, holdId: `le_${UUID}${slot}`, until, isGrant: true },
		{ executionId: leased.id, holdId: leaseId, until, isGrant: true },
	]);
	const { holders } = await backend.quotas.get("openai");
	expect(new Set(holders)).toEqual(
		new Set([
			{ executionId: granted.id, grantId: `gr_${UUID}${slot}`, since: clock.now() },
			{ executionId: leased.id, leaseId, since: clock.now() },
		]),
	);
});

test("a budget and its ledger show what is reserved and not spent yet", async () => {
	const { backend, clock } = await stage();
	await backend.budgets.create({ id: "team", dimensions: { tokens: { hard: 100 } } });
	const { id: executionId } = await backend.executions.create({ kind: "job" });
	const wanted = { tokens: 40 };
	await reserve(backend, budget, [{ executionId, holdId: `le_${UUID}_7`, until: clock.now() + 1000, wanted }]);
	const entry = { executionId, dims: {}, reserved: { tokens: 40 }, reportedAt: clock.now() };
	expect((await backend.budgets.ledger("team")).entries).toEqual([entry]);
	await backend.budgets.usage("team", { dims: { tokens: 10 }, executionId });
	expect((await backend.budgets.get("team")).dimensions.tokens).toMatchObject({ used: 10, reserved: 30 });
	expect((await backend.budgets.ledger("team")).entries).toMatchObject([
		{ dims: { tokens: 10 }, reserved: { tokens: 30 } },
	]);
	await backend.budgets.usage("team", { dims: { tokens: 30 }, executionId });
	expect((await backend.budgets.ledger("team")).entries[0]).not.toHaveProperty("reserved");
});
