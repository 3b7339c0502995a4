import { expect } from "vitest";
import type { CancelFlowRequest } from "../../../src/contract/flows.ts";
import { chain, type FlowAtWork, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

const cancel = (flow: FlowAtWork, request: CancelFlowRequest, options?: { wait?: boolean }) =>
	flow.scene.backend.flows.cancel(flow.id, request, options);

/** What a cancel answers, which of several holds, and what it stops. */
export function flowCancelAnswerCases(test: PublicCase): void {
	test("a cancel that is waited for answers when all have ended", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		const { id, fence } = await flow.take("a");
		const waiting = cancel(flow, { policy: "cancel_all" }, { wait: true });
		await scene.clock.settle();
		await scene.backend.leases.release(id, { fence });
		await scene.clock.settle();
		const answer = await waiting;
		expect(answer).toMatchObject({ status: "cancelled", state: "cancelled", policy: "cancel_all", memberCount: 2 });
		expect(answer).not.toHaveProperty("failedIds");
	});

	test("a cancel that is waited for ends what does not stop with its grace", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.take("a");
		const waiting = cancel(flow, { policy: "cancel_all", graceMs: 5000 }, { wait: true });
		await scene.clock.advance(5000);
		expect(await waiting).toMatchObject({ status: "cancelled", state: "cancelled" });
	});

	test("a member that had ended before is no failure of a cancel", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > c"] });
		await flow.complete("a");
		const waiting = cancel(flow, { policy: "cancel_all" }, { wait: true });
		await scene.clock.settle();
		const answer = await waiting;
		expect(answer).toMatchObject({ status: "cancelled", memberCount: 2 });
		expect([...answer.memberIds].sort()).toEqual([flow.idOf("b"), flow.idOf("c")].sort());
		expect(await flow.states()).toEqual({ a: "completed", b: "cancelled", c: "cancelled" });
	});

	test("whoever has not stopped when a wait is over is named", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		await flow.take("a");
		const waiting = cancel(flow, { policy: "cancel_all", graceMs: 3_000_000 }, { wait: true });
		await scene.clock.advance(110_000);
		expect(await waiting).toMatchObject({
			status: "partially_cancelled",
			state: "running",
			memberCount: 2,
			failedIds: [flow.idOf("a")],
		});
	});

	for (const policy of ["cancel_pending", "flow_only"] as const) {
		test(`a wait for ${policy} does not wait for what runs`, async (scene) => {
			const flow = await flowOf(scene, { nodes: ["a", "b"] });
			await flow.take("a");
			const waiting = cancel(flow, { policy }, { wait: true });
			await scene.clock.settle();
			expect(await waiting).toMatchObject({ status: "cancelled", state: "running", policy });
			expect(await scene.claim()).toEqual([]);
		});
	}

	test("a cancel repeated, or a weaker one, answers with what is stored and changes nothing", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.take("a");
		await cancel(flow, { policy: "cancel_all", reason: "first" });
		const before = [await flow.look(), await flow.events()];
		for (const policy of ["cancel_all", "cancel_pending", "flow_only"] as const)
			expect(await cancel(flow, { policy, reason: "second" })).toMatchObject({
				status: "already_requested",
				policy: "cancel_all",
				reason: "first",
				memberCount: 1,
			});
		expect([await flow.look(), await flow.events()]).toEqual(before);
	});

	test("a stronger policy replaces a weaker one", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		const a = await flow.take("a");
		await cancel(flow, { policy: "flow_only", reason: "one" });
		expect(await flow.states()).toEqual({ a: "active", b: "waiting" });
		expect(await cancel(flow, { policy: "cancel_pending", reason: "two" })).toMatchObject({
			status: "scheduled",
			policy: "cancel_pending",
			reason: "two",
		});
		expect(await flow.states()).toEqual({ a: "active", b: "cancelled" });
		expect(await scene.get(a.id)).not.toHaveProperty("cancel");
		expect(await cancel(flow, { policy: "cancel_all", reason: "three" })).toMatchObject({ policy: "cancel_all" });
		await scene.clock.settle();
		expect((await scene.get(a.id)).cancel).toMatchObject({ source: "flow", reason: "three" });
	});

	test("force replaces a graceful cancel of all", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.take("a");
		await cancel(flow, { policy: "cancel_all" });
		expect(await flow.state()).toBe("running");
		expect(await cancel(flow, { policy: "cancel_all", mode: "force" })).toMatchObject({ status: "scheduled" });
		expect(await flow.state()).toBe("cancelled");
	});

	test("a cancel of an ended flow tells how it ended, and changes nothing", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.complete("a");
		const before = [await flow.look(), await flow.events()];
		for (const wait of [false, true]) {
			const answer = await cancel(flow, { policy: "cancel_all", reason: "late" }, { wait });
			expect(answer).toEqual({ status: "already_terminal", state: "completed", memberCount: 0, memberIds: [] });
		}
		expect([await flow.look(), await flow.events()]).toEqual(before);
		const other = await flowOf(scene, { nodes: ["a"] });
		await cancel(other, { policy: "cancel_pending", reason: "first" });
		await scene.clock.settle();
		expect(await cancel(other, { policy: "cancel_all", reason: "second" })).toMatchObject({
			status: "already_terminal",
			state: "cancelled",
			policy: "cancel_pending",
			reason: "first",
		});
	});

	test("a cancel seals the flow, and what is added then is refused as cancelled", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		await flow.take("a");
		await cancel(flow, { policy: "cancel_pending" });
		expect(await flow.look()).toMatchObject({ sealed: true, revision: 2 });
		for (const call of [
			() => flow.addMember("c"),
			() => flow.addEdge("a > b", { expectedRevision: 2 }),
			() => scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" }),
		])
			expect(await refusal(call())).toMatchObject({ code: "flow_cancelled", status: 409 });
		expect(await scene.backend.flows.seal(flow.id)).toEqual({ revision: 2 });
	});

	test("a member of a cancelled flow is not replayed", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		await flow.complete("a");
		await cancel(flow, { policy: "cancel_all" });
		await scene.clock.settle();
		for (const key of ["a", "b"])
			expect(await refusal(scene.backend.executions.replay(flow.idOf(key)))).toMatchObject({
				code: "flow_cancelled",
				status: 409,
			});
		expect(await flow.state()).toBe("cancelled");
	});

	test("an unsealed flow without members ends with a cancel", async (scene) => {
		const flow = await growing(scene);
		await cancel(flow, { policy: "flow_only" });
		expect(await flow.state()).toBe("cancelled");
	});

	test("no member is claimed after its flow was cancelled, however many there are", async (scene) => {
		const flow = await flowOf(scene, { nodes: numbered(150).map((key) => ({ key, kind: "job" })) });
		const [running] = await scene.claim({ leaseMs: 600_000 });
		await cancel(flow, { policy: "cancel_pending" });
		expect(await scene.claim({ max: 256 })).toEqual([]);
		expect(await flow.look()).toMatchObject({ counts: { active: 1, cancelled: 149 } });
		expect(running?.flowId).toBe(flow.id);
	});

	test("a grant of before the cancel cannot be accepted after it", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		const { leases } = scene.backend;
		const grant = await leases.grant({ workerId: "w", instanceId: "w-1", grantTtlMs: 5000 });
		await cancel(flow, { policy: "flow_only" });
		await refusal(leases.acceptGrant(grant?.grantId ?? "", { instanceId: "w-1" }));
		expect(await flow.state()).toBe("open");
		await scene.clock.advance(10_000);
		expect(await scene.claim()).toEqual([]);
	});

	test("a claim that waits gets nothing of a cancelled flow", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", delayMs: 1000 }, "b"], edges: ["a > b"] });
		const waiting = scene.claim({ waitMs: 5000 });
		await cancel(flow, { policy: "flow_only" });
		await scene.clock.advance(5000);
		expect(await waiting).toEqual([]);
	});

	test("work that nobody can do is released by no worker that comes once its flow is cancelled", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", requiredCapabilities: ["gpu"] }] });
		expect(await scene.claim()).toEqual([]);
		await cancel(flow, { policy: "flow_only" });
		await scene.clock.settle();
		expect(await scene.claim({ capabilities: ["gpu"], instanceId: "instance-2" })).toEqual([]);
		await scene.clock.advance(600_000);
		expect(await scene.state(flow.idOf("a"))).toMatchObject({ blockingReason: "paused_by_flow_cancel" });
	});

	test("lists of ids stop at 1000, and counts are exact", async (scene) => {
		const keys = numbered(1100);
		const flow = await flowOf(scene, { nodes: keys, edges: chain(keys) });
		const answer = await cancel(flow, { policy: "cancel_all" });
		expect(answer.memberCount).toBe(1100);
		expect(new Set(answer.memberIds).size).toBe(1000);
		expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { cancelled: 1100 } });
	});

	test("a cancel that meets a claim half-way gives back what was taken", async (scene) => {
		await scene.backend.quotas.create({ id: "some", concurrency: 100 });
		await scene.backend.budgets.create({ id: "team", dimensions: { tokens: { hard: 100 } } });
		const guarded = { quotas: ["some"], budgets: ["team"], reserve: { team: { tokens: 1 } } };
		for (let n = 0; n < 5; n++) {
			const flow = await flowOf(scene, { nodes: numbered(5).map((key) => ({ key, ...guarded })) });
			await Promise.all([scene.claim({ max: 5 }), cancel(flow, { policy: "cancel_all", mode: "force" })]);
			expect(await flow.look()).toMatchObject({ state: "cancelled", counts: { cancelled: 5 } });
		}
		await scene.clock.advance(6000);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.backend.quotas.get("some")).concurrency).toEqual({ max: 100, held: 0 });
		expect((await scene.backend.budgets.get("team")).dimensions.tokens).toMatchObject({ used: 0, reserved: 0 });
	});
}
