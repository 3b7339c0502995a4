import { expect } from "vitest";
import type { CreateBudgetRequest } from "../../../src/index.ts";
import { type Held, type PublicCase, refusal, type Scene } from "../scene.ts";
import { namesOf } from "../suspended-work.ts";

/** Lets messages between partitions arrive, and what waits be released. */
const settle = (scene: Scene) => scene.clock.advance(20);

/** A budget that asks, and work that has just spent too much of it. */
async function paused(scene: Scene, budget: Partial<CreateBudgetRequest> = {}): Promise<Held> {
	await scene.backend.budgets.create({ id: "b", dimensions: { tokens: { hard: 100 } }, onHard: "suspend", ...budget });
	const held = await scene.start({ budgets: ["b"] });
	await spend(scene, held, 90);
	expect(await spend(scene, held, 20)).toMatchObject({ outcome: "hard_breach" });
	await settle(scene);
	return held;
}

const spend = (scene: Scene, { id, fence }: Held, tokens: number) =>
	scene.backend.leases.usage(id, { fence, budget: "b", dims: { tokens } });

/** Budgets that ask whether work that spent too much may go on. */
export function budgetPauseCases(test: PublicCase): void {
	test("work that spent too much is suspended, and waits at the budget's waitpoint", async (scene) => {
		const { id } = await paused(scene);
		expect(await scene.state(id)).toEqual({
			publicState: "suspended",
			lifecyclePhase: "suspended",
			ownershipState: "unowned",
			eligibilityState: "not_applicable",
			blockingReason: "waiting_for_budget",
			terminalOutcome: "none",
			attemptState: "attempt_interrupted",
		});
		expect((await scene.get(id)).blockingDetail).toBe("budget b: tokens 90/100, report of 20 refused");
		expect((await scene.backend.waitpoints.list(id)).waitpoints).toMatchObject([
			{ key: "budget:b", state: "active", requiredSignalNames: ["approve", "reject"] },
		]);
		expect((await scene.backend.waitpoints.inbox({ reason: "paused_by_budget" })).waitpoints).toMatchObject([
			{ executionId: id, key: "budget:b", detail: "budget b: tokens 90/100, report of 20 refused" },
		]);
	});

	test("its lease is over: its calls are told that it was revoked", async (scene) => {
		const held = await paused(scene);
		const { leases } = scene.backend;
		expect(await refusal(leases.complete(held.id, { fence: held.fence }))).toMatchObject({ code: "lease_revoked" });
		const [renewed] = await leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
		expect(renewed).toMatchObject({
			ok: false,
			error: { code: "lease_revoked" },
			budgetBreach: { budget: "b", dimension: "tokens", action: "suspend" },
		});
	});

	test("everybody who runs under the budget is paused", async (scene) => {
		await scene.backend.budgets.create({ id: "b", dimensions: { tokens: { hard: 100 } }, onHard: "suspend" });
		const first = await scene.start({ budgets: ["b"] });
		const second = await scene.start({ budgets: ["b"] });
		await spend(scene, first, 101);
		await settle(scene);
		for (const { id } of [first, second]) expect((await scene.get(id)).publicState).toBe("suspended");
	});

	test("an approval with new limits raises the budget, and the work goes on", async (scene) => {
		const { id } = await paused(scene);
		const payload = { dimensions: { tokens: { hard: 500 } } };
		expect(await scene.backend.waitpoints.approve(id, { name: "approve", payload })).toMatchObject({
			status: "accepted",
		});
		await settle(scene);
		expect((await scene.backend.budgets.get("b")).dimensions.tokens).toMatchObject({
			used: 90,
			hard: 500,
			exhausted: false,
		});
		const resumed = await scene.take();
		expect(resumed).toMatchObject({ id, attempt: { index: 0, type: "initial" } });
		expect(await spend(scene, resumed, 20)).toMatchObject({ outcome: "ok" });
	});

	test("an approval with limits that are none is refused, and changes nothing", async (scene) => {
		const { id } = await paused(scene);
		for (const dimensions of [{ tokens: { hard: 0 } }, { tokens: { hard: "many" } }, 7]) {
			const call = scene.backend.waitpoints.approve(id, { name: "approve", payload: { dimensions } });
			expect(await refusal(call)).toMatchObject({ code: "invalid_input" });
		}
		expect((await scene.get(id)).publicState).toBe("suspended");
		expect((await scene.backend.budgets.get("b")).dimensions.tokens).toMatchObject({ hard: 100 });
	});

	test("an approval without limits lets admission decide: it waits for the budget like any other", async (scene) => {
		const { id } = await paused(scene);
		expect(await scene.backend.waitpoints.approve(id, { name: "approve" })).toMatchObject({ effect: "resumed" });
		expect(await scene.claim()).toEqual([]);
		await settle(scene);
		expect(await scene.state(id)).toMatchObject({ publicState: "rate_limited", blockingReason: "waiting_for_budget" });
		await scene.backend.budgets.reset("b");
		await settle(scene);
		expect((await scene.take()).id).toBe(id);
	});

	test("a rejection fails it for good", async (scene) => {
		const held = await paused(scene);
		const payload = { why: "too dear" };
		const told = await scene.backend.waitpoints.approve(held.id, { name: "reject", payload });
		expect(told).toMatchObject({ status: "accepted", effect: "resumed" });
		expect(await scene.get(held.id)).toMatchObject({
			publicState: "failed",
			failure: { category: "budget_exceeded", reason: "budget b: to go on was rejected" },
			retries: 0,
		});
		expect((await scene.backend.budgets.get("b")).waiting).toBe(0);
		expect((await scene.backend.waitpoints.inbox()).waitpoints).toEqual([]);
	});

	test("signals that are neither answer change nothing", async (scene) => {
		const { id } = await paused(scene);
		const payload = { dimensions: { tokens: { hard: 500 } } };
		expect((await scene.backend.waitpoints.approve(id, { name: "perhaps", payload })).effect).toBe("ignored");
		expect((await scene.get(id)).publicState).toBe("suspended");
		expect((await scene.backend.budgets.get("b")).dimensions.tokens).toMatchObject({ hard: 100 });
	});

	const ways: Record<string, (scene: Scene) => Promise<unknown>> = {
		"is raised": (scene) => scene.backend.budgets.patch("b", { dimensions: { tokens: { hard: 200 } } }),
		"is reset": (scene) => scene.backend.budgets.reset("b"),
		"is deleted": (scene) => scene.backend.budgets.delete("b"),
		"no longer limits it": (scene) => scene.backend.budgets.patch("b", { dimensions: { tokens: null } }),
	};
	for (const [how, way] of Object.entries(ways)) {
		test(`it goes on by itself when the budget ${how}`, async (scene) => {
			const { id } = await paused(scene);
			await way(scene);
			await settle(scene);
			expect(await scene.state(id)).toMatchObject({ publicState: "waiting", attemptState: "attempt_interrupted" });
			expect((await scene.events(id)).at(-1)).toMatchObject({ type: "resumed", by: "admitted" });
			const resumed = await scene.take();
			expect(resumed).toMatchObject({ id, attempt: { index: 0 }, signals: [] });
			expect((await scene.backend.waitpoints.list(id)).waitpoints).toEqual([]);
		});
	}

	test("it goes on by itself when a new period begins", async (scene) => {
		const { id } = await paused(scene, { resetEvery: 60_000 });
		await scene.clock.advance(59_000);
		expect((await scene.get(id)).publicState).toBe("suspended");
		await scene.clock.advance(1100);
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("the budget counts what it paused among those that wait for it", async (scene) => {
		await paused(scene);
		expect((await scene.backend.budgets.get("b")).waiting).toBe(1);
	});

	test("the answer may come with the waitpoint's token, too", async (scene) => {
		const { id } = await paused(scene);
		const [waitpoint] = (await scene.backend.waitpoints.list(id)).waitpoints;
		const { token } = await scene.backend.waitpoints.token(id, waitpoint?.id ?? "");
		const payload = { dimensions: { tokens: { hard: 300 } } };
		const said = { waitpointId: waitpoint?.id ?? "", token, name: "approve", payload };
		expect(await scene.backend.waitpoints.signal(id, said)).toMatchObject({ status: "accepted" });
		await settle(scene);
		expect((await scene.backend.budgets.get("b")).dimensions.tokens?.hard).toBe(300);
		expect((await scene.take()).id).toBe(id);
	});

	test("the answer may come by the callback URL, too", async (scene) => {
		const { id } = await paused(scene);
		const [waitpoint] = (await scene.backend.waitpoints.list(id)).waitpoints;
		const { token } = await scene.backend.waitpoints.token(id, waitpoint?.id ?? "");
		const bytes = Buffer.from(JSON.stringify({ dimensions: { tokens: { hard: 300 } } }));
		const said = { token, bytes, contentType: "application/json", name: "approve" };
		expect(await scene.backend.waitpoints.callback(waitpoint?.id ?? "", said)).toMatchObject({ status: "accepted" });
		await settle(scene);
		expect((await scene.backend.budgets.get("b")).dimensions.tokens?.hard).toBe(300);
	});

	test("no worker opens the waitpoint of a budget, whose token would raise it", async (scene) => {
		const { id, fence } = await scene.start();
		const { leases } = scene.backend;
		expect(await refusal(leases.createWaitpoint(id, { fence, key: "budget:b" }))).toMatchObject({
			code: "invalid_input",
			details: { field: "key" },
		});
		const asked = { fence, reason: "waiting_for_signal", condition: { signal: "approve" } } as const;
		expect(
			await refusal(leases.suspend(id, { ...asked, waitpoints: [{ key: "w" }, { key: "budget:b" }] })),
		).toMatchObject({ code: "invalid_input", details: { field: "waitpoints[1].key" } });
	});

	test("an operator may let it go on by hand; then admission decides", async (scene) => {
		const { id } = await paused(scene);
		expect(await scene.backend.waitpoints.resume(id)).toMatchObject({ publicState: "waiting" });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(id)).publicState).toBe("rate_limited");
	});

	test("paused work can be cancelled, and is then no longer waited for", async (scene) => {
		const { id } = await paused(scene);
		await scene.backend.executions.cancel(id);
		await settle(scene);
		expect((await scene.backend.budgets.get("b")).waiting).toBe(0);
		await scene.backend.budgets.reset("b");
		await settle(scene);
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("it may be paused again, and asks again at a waitpoint of its own", async (scene) => {
		const first = await paused(scene);
		const [before] = (await scene.backend.waitpoints.list(first.id)).waitpoints;
		await scene.backend.budgets.patch("b", { dimensions: { tokens: { hard: 150 } } });
		await settle(scene);
		const again = await scene.take();
		await spend(scene, again, 100);
		await settle(scene);
		expect((await scene.get(first.id)).publicState).toBe("suspended");
		const [after] = (await scene.backend.waitpoints.list(first.id)).waitpoints;
		expect(after?.id).not.toBe(before?.id);
		await scene.backend.waitpoints.approve(first.id, { name: "approve" });
		await scene.backend.budgets.reset("b");
		await settle(scene);
		expect(namesOf((await scene.take()).signals)).toEqual(["approve"]);
	});

	test("what was asked before the pause is answered as before: its signals stay those of its own wait", async (scene) => {
		await scene.backend.budgets.create({ id: "b", dimensions: { tokens: { hard: 100 } }, onHard: "suspend" });
		const held = await scene.start({ budgets: ["b"] });
		const wait = {
			reason: "waiting_for_signal",
			condition: { signal: "go" },
			waitpoints: [{ key: "w" }],
			idempotencyKey: "step",
		} as const;
		const asked = { ...wait, waitpoints: [{ key: "w" }] };
		const { waitpoints } = await scene.backend.leases.suspend(held.id, { fence: held.fence, ...asked });
		const [at] = waitpoints;
		await scene.backend.waitpoints.signal(held.id, { waitpointId: at?.id ?? "", token: at?.token ?? "", name: "go" });
		await spend(scene, await scene.take(), 101);
		await settle(scene);
		await scene.backend.budgets.reset("b");
		await settle(scene);
		const resumed = await scene.take();
		const again = await scene.backend.leases.suspend(held.id, { fence: resumed.fence, ...asked });
		expect(again).toMatchObject({ status: "already_satisfied", signals: [{ name: "go" }] });
	});
}
