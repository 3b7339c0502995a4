import { expect } from "vitest";
import type { CancelFlowRequest } from "../../../src/contract/flows.ts";
import type { WorkerNotice } from "../../../src/index.ts";
import { type FlowAtWork, flowOf } from "../flow-work.ts";
import { type Held, type PublicCase, refusal, type Scene } from "../scene.ts";

const cancel = (flow: FlowAtWork, request: CancelFlowRequest) => flow.scene.backend.flows.cancel(flow.id, request);

/** One that runs, one that can, and one that waits for the first. */
async function underWay(scene: Scene): Promise<{ flow: FlowAtWork; a: Held }> {
	const nodes = [{ key: "a", policy: { retry: {} } }, "b", "c"];
	const flow = await flowOf(scene, { nodes, edges: ["a > c"] });
	return { flow, a: await flow.take("a") };
}

/** Cancelling whole flows. */
export function flowCancelCases(test: PublicCase): void {
	test("a cancel is answered at once with whom it will reach", async (scene) => {
		const { flow } = await underWay(scene);
		const answer = await cancel(flow, { policy: "cancel_all", reason: "enough" });
		expect(answer).toMatchObject({ status: "scheduled", policy: "cancel_all", reason: "enough", memberCount: 3 });
		expect([...answer.memberIds].sort()).toEqual(Object.values(flow.nodes).sort());
		expect((await flow.look()).cancel).toEqual({
			policy: "cancel_all",
			mode: "graceful",
			reason: "enough",
			requestedAt: scene.now,
		});
	});

	test("cancel_all cancels what waits and gives what runs 30 seconds", async (scene) => {
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "cancel_all", reason: "enough" });
		expect(await flow.states()).toEqual({ a: "active", b: "cancelled", c: "cancelled" });
		expect((await scene.get(flow.idOf("b"))).cancel).toMatchObject({ source: "flow", reason: "enough" });
		expect((await scene.get(a.id)).cancel).toMatchObject({ source: "flow", deadlineAt: scene.now + 30_000 });
		await scene.clock.advance(29_999);
		expect(await flow.state()).toBe("running");
		await scene.clock.advance(1);
		expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { cancelled: 3 }, endedAt: scene.now });
	});

	test("a cancel may set its own grace", async (scene) => {
		const { flow } = await underWay(scene);
		await cancel(flow, { policy: "cancel_all", graceMs: 500 });
		await scene.clock.advance(500);
		expect(await flow.state()).toBe("cancelled");
	});

	test("force cancels what runs at once", async (scene) => {
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "cancel_all", mode: "force" });
		expect(await flow.state()).toBe("cancelled");
		expect((await refusal(scene.backend.leases.complete(a.id, { fence: a.fence }))).code).toMatch(/lease|not_active/);
	});

	test("holders hear of it at once, and with their next renewal", async (scene) => {
		const heard: WorkerNotice[] = [];
		const stop = scene.backend.leases.notices("instance-1", (notice) => heard.push(notice));
		await scene.clock.settle();
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "cancel_all", reason: "enough" });
		await scene.clock.settle();
		expect(heard).toEqual([{ type: "cancel_requested", executionId: a.id, ...a.fence, reason: "enough" }]);
		expect(await scene.backend.leases.renew({ leases: [{ executionId: a.id, ...a.fence }] })).toMatchObject([
			{ ok: true, cancelRequested: true, reason: "enough" },
		]);
		stop();
	});

	test("what succeeds within its grace has succeeded, and starts nothing", async (scene) => {
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "cancel_all" });
		await scene.backend.leases.complete(a.id, { fence: a.fence, result: 1 });
		expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { completed: 1, cancelled: 2 } });
		expect(await scene.claim()).toEqual([]);
	});

	test("what completes before the cancel has come by starts nothing either", async (scene) => {
		const { flow, a } = await underWay(scene);
		await Promise.all([
			cancel(flow, { policy: "cancel_all" }),
			scene.backend.leases.complete(a.id, { fence: a.fence }),
		]);
		expect(await flow.look()).toMatchObject({ state: "cancelled" });
		expect(await scene.claim()).toEqual([]);
	});

	test("cancel_pending cancels all but what runs, and lets that end", async (scene) => {
		const { flow, a } = await underWay(scene);
		expect(await cancel(flow, { policy: "cancel_pending" })).toMatchObject({
			policy: "cancel_pending",
			memberCount: 3,
		});
		expect(await flow.states()).toEqual({ a: "active", b: "cancelled", c: "cancelled" });
		expect(await scene.get(a.id)).not.toHaveProperty("cancel");
		await scene.clock.advance(60_000);
		await scene.backend.leases.complete(a.id, { fence: a.fence });
		expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { completed: 1, cancelled: 2 } });
	});

	const returns: Record<string, (scene: Scene, held: Held) => Promise<unknown>> = {
		"is handed back": ({ backend }, { id, fence }) => backend.leases.release(id, { fence }),
		"is delayed": ({ backend }, { id, fence }) => backend.leases.delay(id, { fence, delayMs: 10 }),
		"would be retried": ({ backend }, { id, fence }) => backend.leases.fail(id, { fence, reason: "x" }),
		"would be suspended": ({ backend }, { id, fence }) =>
			backend.leases.suspend(id, { fence, reason: "manual_pause", condition: { operatorOnly: true } }),
		"loses its lease": ({ clock }) => clock.advance(3_600_000),
		"has its lease revoked": ({ backend }, { id }) => backend.executions.revokeLease(id),
	};
	for (const [what, act] of Object.entries(returns)) {
		test(`after cancel_pending, what ${what} is cancelled instead of going back`, async (scene) => {
			const { flow, a } = await underWay(scene);
			await cancel(flow, { policy: "cancel_pending", reason: "enough" });
			await act(scene, a);
			expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { cancelled: 3 } });
			expect((await scene.get(a.id)).cancel).toMatchObject({ source: "flow", reason: "enough" });
			expect(await scene.claim()).toEqual([]);
		});
	}

	for (const policy of ["cancel_all", "cancel_pending"] as const) {
		test(`${policy} reaches what is delayed, suspended, granted, blocked or between attempts`, async (scene) => {
			await scene.backend.quotas.create({ id: "one", concurrency: 1 });
			await scene.start({ kind: "other", quotas: ["one"] });
			const flow = await flowOf(scene, {
				nodes: [
					{ key: "delayed", delayMs: 1000 },
					"suspended",
					"granted",
					{ key: "limited", quotas: ["one"] },
					{ key: "retried", policy: { retry: {} } },
				],
			});
			const { id, fence } = await flow.take("suspended");
			await scene.backend.leases.suspend(id, { fence, reason: "manual_pause", condition: { operatorOnly: true } });
			await scene.backend.leases.grant({ workerId: "w", instanceId: "w-1", kinds: ["granted"], grantTtlMs: 9000 });
			expect(await scene.claim({ kinds: ["limited"] })).toEqual([]);
			await flow.fail("retried");
			await cancel(flow, { policy });
			expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { cancelled: 5 } });
			await scene.clock.advance(120_000);
			expect(await scene.claim({ kinds: Object.keys(flow.nodes) })).toEqual([]);
		});
	}

	test("flow_only leaves what runs alone, and keeps the rest where it is", async (scene) => {
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "flow_only" });
		await scene.clock.settle();
		for (const key of ["b", "c"])
			expect(await scene.state(flow.idOf(key))).toEqual({
				publicState: "waiting",
				lifecyclePhase: "runnable",
				ownershipState: "unowned",
				eligibilityState: "blocked_by_operator",
				blockingReason: "paused_by_flow_cancel",
				terminalOutcome: "none",
				attemptState: "pending_first_attempt",
			});
		expect((await scene.get(flow.idOf("b"))).blockingDetail).toMatch(/its flow was cancelled/);
		expect(await scene.get(a.id)).toMatchObject({ publicState: "active" });
		await scene.backend.leases.complete(a.id, { fence: a.fence });
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(3_600_000);
		expect(await scene.claim()).toEqual([]);
		expect(await flow.look()).toMatchObject({ counts: { completed: 1, waiting: 2 }, sealed: true });
	});

	test("after flow_only, what goes back to the queue is kept, too", async (scene) => {
		const { flow, a } = await underWay(scene);
		await cancel(flow, { policy: "flow_only" });
		await scene.backend.leases.release(a.id, { fence: a.fence });
		expect(await scene.state(a.id)).toMatchObject({
			blockingReason: "paused_by_flow_cancel",
			attemptState: "attempt_interrupted",
		});
		expect(await scene.claim()).toEqual([]);
	});

	test("what flow_only kept can be cancelled by itself, and its flow ends with the last", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		await cancel(flow, { policy: "flow_only" });
		await scene.clock.settle();
		for (const key of ["a", "b"]) await scene.backend.executions.cancel(flow.idOf(key));
		expect(await flow.state()).toBe("cancelled");
	});
}
