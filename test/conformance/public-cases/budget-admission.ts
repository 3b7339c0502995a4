import { expect } from "vitest";
import type { WorkerNotice } from "../../../src/index.ts";
import { type Held, type PublicCase, refusal, type Scene } from "../scene.ts";

const team = { id: "team", dimensions: { tokens: { hard: 100 } } };
const complete = (scene: Scene, { id, fence }: Held) => scene.backend.leases.complete(id, { fence });
const settle = (scene: Scene) => scene.clock.advance(20);
const spend = (scene: Scene, tokens: number) => scene.backend.budgets.usage("team", { dims: { tokens } });
const tokens = async (scene: Scene) => (await scene.backend.budgets.get("team")).dimensions.tokens;

const rateLimited = async (scene: Scene) =>
	(await scene.backend.executions.list({ state: "rate_limited", limit: 1000 })).executions;

/** A worker's ear, and what it has heard. */
async function listening(scene: Scene, instanceId = "instance-1") {
	const heard: WorkerNotice[] = [];
	const stop = scene.backend.leases.notices(instanceId, (notice) => heard.push(notice));
	await scene.clock.settle();
	return { heard, stop };
}

export function budgetAdmissionCases(test: PublicCase): void {
	test("work runs while its budget has something left", async (scene) => {
		await scene.backend.budgets.create(team);
		await spend(scene, 99);
		const held = await scene.start({ budgets: ["team"] });
		expect((await scene.get(held.id)).budgets).toEqual(["team"]);
		await complete(scene, held);
	});

	test("work whose budget is spent waits for it, and says so", async (scene) => {
		await scene.backend.budgets.create(team);
		await spend(scene, 100);
		const id = await scene.create({ budgets: ["team"] });
		expect(await scene.claim()).toEqual([]);
		expect(await scene.state(id)).toEqual({
			publicState: "rate_limited",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "blocked_by_budget",
			blockingReason: "waiting_for_budget",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		expect((await scene.get(id)).blockingDetail).toBe("budget team: tokens 100/100");
		expect((await scene.backend.budgets.get("team")).waiting).toBe(1);
	});

	test("a refused report blocks what comes, and tells how much was refused", async (scene) => {
		await scene.backend.budgets.create(team);
		await spend(scene, 90);
		expect(await spend(scene, 40)).toMatchObject({ outcome: "hard_breach" });
		const id = await scene.create({ budgets: ["team"] });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(id)).blockingDetail).toBe("budget team: tokens 90/100, report of 40 refused");
	});

	test("explain names who spent it", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"] });
		await scene.backend.leases.usage(held.id, { fence: held.fence, budget: "team", dims: { tokens: 100 } });
		const id = await scene.create({ budgets: ["team"] });
		expect(await scene.claim()).toEqual([]);
		const { reasons } = await scene.backend.executions.explain(id);
		expect(reasons[0]).toBe(`budget team: tokens 100/100; by ${held.id}`);
	});

	const clearings: Record<string, (scene: Scene, spender: string) => Promise<unknown>> = {
		"raising the limit": (scene) => scene.backend.budgets.patch("team", { dimensions: { tokens: { hard: 500 } } }),
		"removing the limit": (scene) => scene.backend.budgets.patch("team", { dimensions: { tokens: { hard: null } } }),
		"removing the dimension": (scene) => scene.backend.budgets.patch("team", { dimensions: { tokens: null } }),
		"a reset": (scene) => scene.backend.budgets.reset("team"),
		"taking back what was spent": (scene, executionId) => scene.backend.budgets.release("team", { executionId }),
		"deleting the budget": (scene) => scene.backend.budgets.delete("team"),
	};
	for (const [how, clear] of Object.entries(clearings)) {
		test(`${how} releases what waited`, async (scene) => {
			await scene.backend.budgets.create(team);
			const spender = await scene.create({ delayMs: 60_000 });
			await scene.backend.budgets.usage("team", { dims: { tokens: 90 }, executionId: spender });
			await spend(scene, 40);
			for (let n = 0; n < 5; n++) await scene.create({ budgets: ["team"] });
			expect(await scene.claim({ max: 9 })).toEqual([]);
			expect(await rateLimited(scene)).toHaveLength(5);
			await settle(scene);
			await clear(scene, spender);
			await settle(scene);
			expect(await rateLimited(scene)).toEqual([]);
			expect(await scene.claim({ max: 9 })).toHaveLength(5);
		});
	}

	test("a period that ends releases what waited", async (scene) => {
		await scene.backend.budgets.create({ ...team, resetEvery: 10_000 });
		await spend(scene, 100);
		const id = await scene.create({ budgets: ["team"] });
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(10_100);
		expect((await scene.take()).id).toBe(id);
		expect(await tokens(scene)).toMatchObject({ used: 0 });
	});

	test("a reservation is held at admission and returned when the lease ends", async (scene) => {
		await scene.backend.budgets.create(team);
		const request = { budgets: ["team"], reserve: { team: { tokens: 60 } } };
		const held = await scene.start(request);
		expect(await tokens(scene)).toMatchObject({ used: 0, reserved: 60 });
		const second = await scene.create(request);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(second)).blockingDetail).toBe(
			"budget team: tokens 0 used and 60 reserved of 100, reservation of 60 does not fit",
		);
		await complete(scene, held);
		await settle(scene);
		expect(await tokens(scene)).toMatchObject({ used: 0, reserved: 0 });
		expect((await scene.take()).id).toBe(second);
	});

	test("what does not fit hides nothing that does", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"], reserve: { team: { tokens: 90 } } });
		const large = await scene.create({ budgets: ["team"], reserve: { team: { tokens: 50 } }, priority: 5 });
		const small = await scene.create({ budgets: ["team"], reserve: { team: { tokens: 10 } } });
		expect((await scene.take()).id).toBe(small);
		expect((await scene.get(large)).publicState).toBe("rate_limited");
		await complete(scene, held);
		await settle(scene);
		expect((await scene.take()).id).toBe(large);
	});

	test("a report is taken from the reservation of whoever makes it", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"], reserve: { team: { tokens: 60 } } });
		await scene.backend.leases.usage(held.id, { fence: held.fence, budget: "team", dims: { tokens: 50 } });
		expect(await tokens(scene)).toMatchObject({ used: 50, reserved: 10 });
		await complete(scene, held);
		await settle(scene);
		expect(await tokens(scene)).toMatchObject({ used: 50, reserved: 0 });
	});

	test("nobody spends what was promised to another", async (scene) => {
		await scene.backend.budgets.create(team);
		await scene.start({ budgets: ["team"], reserve: { team: { tokens: 60 } } });
		expect(await spend(scene, 40)).toMatchObject({ outcome: "ok" });
		expect(await spend(scene, 1)).toMatchObject({ outcome: "hard_breach", dimension: "tokens" });
	});

	test("a reservation given back does not clear what a refused report exhausted", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"], reserve: { team: { tokens: 60 } } });
		expect(await spend(scene, 41)).toMatchObject({ outcome: "hard_breach" });
		await complete(scene, held);
		await settle(scene);
		await scene.create({ budgets: ["team"] });
		expect(await scene.claim()).toEqual([]);
		expect(await tokens(scene)).toMatchObject({ used: 0, reserved: 0, exhausted: true });
	});

	test("budgets come before quotas, and a budget that refuses takes no slot", async (scene) => {
		await scene.backend.budgets.create(team);
		await spend(scene, 100);
		await scene.backend.quotas.create({ id: "a", rate: { max: 1, windowMs: 60_000 }, concurrency: 1 });
		const id = await scene.create({ budgets: ["team"], quotas: ["a"] });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(id)).state.eligibilityState).toBe("blocked_by_budget");
		await settle(scene);
		expect(await scene.backend.quotas.get("a")).toMatchObject({ concurrency: { held: 0 }, rate: { counted: 0 } });
	});

	test("a quota that refuses gives back what the budget had reserved", async (scene) => {
		await scene.backend.budgets.create(team);
		await scene.backend.quotas.create({ id: "a", concurrency: 1 });
		await scene.start({ quotas: ["a"] });
		await scene.create({ budgets: ["team"], quotas: ["a"], reserve: { team: { tokens: 30 } } });
		expect(await scene.claim()).toEqual([]);
		await settle(scene);
		expect(await tokens(scene)).toMatchObject({ reserved: 0 });
	});

	test("of several budgets each must have something left", async (scene) => {
		await scene.backend.budgets.create(team);
		await scene.backend.budgets.create({ id: "company", dimensions: { calls: { hard: 1 } } });
		await scene.backend.budgets.usage("company", { dims: { calls: 1 } });
		const id = await scene.create({ budgets: ["team", "company"] });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(id)).blockingDetail).toBe("budget company: calls 1/1");
	});

	test("blocked: a breach stops nobody, and holders hear of it", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"] });
		const { heard, stop } = await listening(scene);
		const breach = { budget: "team", dimension: "tokens", action: "block" };
		const report = { fence: held.fence, budget: "team", dims: { tokens: 101 } };
		expect(await scene.backend.leases.usage(held.id, report)).toMatchObject({ outcome: "hard_breach" });
		await settle(scene);
		expect(heard).toMatchObject([{ type: "budget_breach", executionId: held.id, ...breach }]);
		const lease = { executionId: held.id, ...held.fence };
		expect((await scene.backend.leases.renew({ leases: [lease] }))[0]).toMatchObject({
			ok: true,
			budgetBreach: breach,
		});
		await complete(scene, held);
		stop();
	});

	test("fail: a breach ends every holder at once, and none of them is tried again", async (scene) => {
		await scene.backend.budgets.create({ ...team, onHard: "fail" });
		const policy = { retry: { maxRetries: 3 } };
		const one = await scene.start({ budgets: ["team"], policy });
		const two = await scene.start({ budgets: ["team"], policy });
		const other = await scene.start();
		const { heard, stop } = await listening(scene);
		await spend(scene, 101);
		await settle(scene);
		for (const { id, fence } of [one, two]) {
			expect(await scene.get(id)).toMatchObject({ publicState: "failed", failure: { category: "budget_exceeded" } });
			expect((await refusal(scene.backend.leases.complete(id, { fence }))).code).toBe("lease_revoked");
			const [renewed] = await scene.backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
			const budgetBreach = { budget: "team", dimension: "tokens", action: "fail" };
			expect(renewed).toMatchObject({ ok: false, budgetBreach, error: { code: "lease_revoked" } });
		}
		expect((await scene.get(other.id)).publicState).toBe("active");
		expect(heard.map(({ type, executionId }) => [type, executionId]).sort()).toEqual(
			[one, two].map(({ id }) => ["budget_breach", id]).sort(),
		);
		stop();
	});

	test("cancel: a breach asks every holder to stop, with time to do so", async (scene) => {
		await scene.backend.budgets.create({ ...team, onHard: "cancel" });
		const held = await scene.start({ budgets: ["team"] }, { leaseMs: 120_000 });
		const { heard, stop } = await listening(scene);
		await spend(scene, 101);
		await settle(scene);
		expect(await scene.get(held.id)).toMatchObject({ publicState: "active", cancel: { source: "budget" } });
		expect(heard).toMatchObject([{ type: "budget_breach", action: "cancel" }]);
		const [renewed] = await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
		expect(renewed).toMatchObject({ ok: true, cancelRequested: true, budgetBreach: { action: "cancel" } });
		await scene.clock.advance(31_000);
		expect(await scene.get(held.id)).toMatchObject({ publicState: "cancelled", cancel: { source: "budget" } });
		stop();
	});

	test("nothing new is admitted after a refused report", async (scene) => {
		await scene.backend.budgets.create(team);
		await spend(scene, 101);
		for (let n = 0; n < 3; n++) await scene.create({ budgets: ["team"] });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		expect(await scene.backend.leases.grant({ workerId: "w", instanceId: "i", grantTtlMs: 1000 })).toBeNull();
	});

	test("hundreds that wait for one budget hide nothing that waits for another", async (scene) => {
		await scene.backend.budgets.create(team);
		await scene.backend.budgets.create({ id: "other", dimensions: { tokens: { hard: 1 } } });
		await spend(scene, 100);
		await scene.backend.budgets.usage("other", { dims: { tokens: 1 } });
		const many = Array.from({ length: 500 }, () => ({ kind: "job", budgets: ["team"], priority: 5 }));
		await scene.backend.executions.createMany(many);
		const few = [];
		for (let n = 0; n < 3; n++) few.push(await scene.create({ budgets: ["other"] }));
		while ((await rateLimited(scene)).length < 503) expect(await scene.claim({ max: 9 })).toEqual([]);
		await scene.backend.budgets.reset("other");
		await settle(scene);
		expect((await scene.claim({ max: 9 })).map(({ id }) => id).sort()).toEqual([...few].sort());
	});

	test("a deleted execution leaves what it spent without its name", async (scene) => {
		await scene.backend.budgets.create(team);
		const held = await scene.start({ budgets: ["team"] });
		await scene.backend.leases.usage(held.id, { fence: held.fence, budget: "team", dims: { tokens: 7 } });
		await complete(scene, held);
		expect((await scene.backend.budgets.ledger("team")).entries).toMatchObject([{ executionId: held.id }]);
		await scene.backend.executions.delete(held.id);
		await settle(scene);
		const { entries } = await scene.backend.budgets.ledger("team");
		expect(entries).toMatchObject([{ dims: { tokens: 7 } }]);
		expect(entries[0]).not.toHaveProperty("executionId");
		expect(await tokens(scene)).toMatchObject({ used: 7 });
	});

	test("work cannot be made under a budget or quota that is not there", async (scene) => {
		expect((await refusal(scene.create({ budgets: ["none"] }))).code).toBe("budget_not_found");
		expect((await refusal(scene.create({ quotas: ["none"] }))).code).toBe("quota_not_found");
		const items = await scene.backend.executions.createMany([{ kind: "job", budgets: ["none"] }, { kind: "job" }]);
		expect(items.map(({ ok, error }) => [ok, error?.code])).toEqual([
			[false, "budget_not_found"],
			[true, undefined],
		]);
	});
}
