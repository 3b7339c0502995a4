import { expect } from "vitest";
import { chain, type FlowAtWork, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

const HOUR = 3_600_000;

async function expectGone(flow: FlowAtWork): Promise<void> {
	const { flows, executions } = flow.scene.backend;
	await flow.scene.clock.settle();
	expect((await refusal(flows.get(flow.id))).code).toBe("flow_not_found");
	expect((await refusal(flows.events(flow.id))).code).toBe("flow_not_found");
	for (const id of Object.values(flow.nodes))
		expect((await refusal(executions.get(id))).code).toBe("execution_not_found");
	expect((await flows.list()).flows.map(({ id }) => id)).not.toContain(flow.id);
	expect(await executions.list({ flowId: flow.id })).toEqual({ executions: [] });
}

/** How long flows are kept, and how they are removed whole. */
export function flowRemovalCases(test: PublicCase): void {
	test("members, edges and results are kept until the flow has ended, and 24 hours from then", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		await flow.completeWith("a", 1);
		await scene.clock.advance(100 * HOUR);
		expect(await scene.ff.result(flow.idOf("a"))).toBe(1);
		await flow.complete("b");
		await scene.clock.advance(24 * HOUR - 1);
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 2 } });
		await scene.clock.advance(1);
		await expectGone(flow);
	});

	test("a flow says how long it is kept, and its members' own retention is not used", async (scene) => {
		const policy = { retentionMs: 1 };
		const flow = await flowOf(scene, { retentionMs: 5000, nodes: [{ key: "a", policy }, "b"] });
		await flow.complete("a");
		await scene.clock.advance(60_000);
		expect(await scene.get(flow.idOf("a"))).toMatchObject({ publicState: "completed" });
		await flow.complete("b");
		await scene.clock.advance(4999);
		expect(await flow.state()).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(flow);
	});

	test("a retention of 0 keeps a flow until it is deleted", async (scene) => {
		const flow = await flowOf(scene, { retentionMs: 0, nodes: ["a"] });
		await flow.complete("a");
		await scene.clock.advance(100 * HOUR);
		expect(await flow.state()).toBe("completed");
		await scene.backend.flows.delete(flow.id);
		await expectGone(flow);
	});

	test("a replay stops retention until the flow has ended again", async (scene) => {
		const flow = await flowOf(scene, { retentionMs: 1000, nodes: ["a"] });
		await flow.complete("a");
		await scene.clock.advance(900);
		await scene.backend.executions.replay(flow.idOf("a"));
		await scene.clock.advance(900);
		await flow.complete("a");
		await scene.clock.advance(999);
		expect(await flow.state()).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(flow);
	});

	test("retention leaves nothing of a flow in the store", async (scene) => {
		const before = await scene.records();
		const large = "x".repeat(50_000);
		const flow = await flowOf(scene, {
			retentionMs: 1000,
			nodes: [{ key: "a", input: large }, "b", "c"],
			edges: ["a > b as x", "a > c on failure"],
		});
		await flow.completeWith("a", large);
		await scene.backend.executions.replay(flow.idOf("a"));
		await flow.completeWith("a", large);
		const { id, fence } = await flow.take("b");
		await scene.backend.leases.createWaitpoint(id, { fence, key: "door" });
		await scene.backend.leases.appendFrames(id, { fence, frames: [{ text: "hello" }] });
		await scene.backend.leases.complete(id, { fence });
		await scene.clock.advance(1000);
		await expectGone(flow);
		expect(await scene.records()).toEqual(before);
	});

	test("a deleted flow is gone with all its members, and leaves nothing in the store", async (scene) => {
		const before = await scene.records();
		const flow = await growing(scene, ["a", "b"], ["a > b"]);
		await flow.seal();
		await flow.fail("a");
		await scene.clock.settle();
		expect(await scene.backend.flows.delete(flow.id)).toEqual({ deleted: true });
		await expectGone(flow);
		expect(await scene.records()).toEqual(before);
		expect((await refusal(scene.backend.flows.delete(flow.id))).code).toBe("flow_not_found");
	});

	test("so is a large one", async (scene) => {
		const before = await scene.records();
		const keys = numbered(200);
		const flow = await flowOf(scene, {
			nodes: keys,
			edges: [...chain(keys), ...keys.slice(2).map((to) => `n0 > ${to}`)],
		});
		await scene.backend.executions.cancel(flow.idOf("n0"));
		expect(await flow.state()).toBe("failed");
		await scene.backend.flows.delete(flow.id);
		await expectGone(flow);
		expect(await scene.records()).toEqual(before);
	});

	test("what has not ended is not deleted", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		const call = () => refusal(scene.backend.flows.delete(flow.id));
		expect(await call()).toMatchObject({ code: "flow_not_terminal", status: 409 });
		await flow.take("a");
		expect((await call()).code).toBe("flow_not_terminal");
		await scene.backend.flows.cancel(flow.id, { policy: "flow_only" });
		expect((await call()).code).toBe("flow_not_terminal");
		expect(await flow.state()).toBe("running");
	});

	test("an unsealed flow is deleted as long as none of its members was ever claimed", async (scene) => {
		const unused = await growing(scene, ["a", "b"], ["a > b"]);
		await scene.backend.flows.delete(unused.id);
		await expectGone(unused);
		expect(await scene.claim()).toEqual([]);
		const used = await growing(scene, ["a", "b"]);
		const { id, fence } = await used.take("a");
		await scene.backend.leases.release(id, { fence });
		expect((await refusal(scene.backend.flows.delete(used.id))).code).toBe("flow_not_terminal");
	});

	test("a member is not deleted by itself, not even when it has ended", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.complete("a");
		const error = await refusal(scene.backend.executions.delete(flow.idOf("a")));
		expect(error).toMatchObject({ code: "execution_in_flow", status: 409 });
		const answer = await scene.backend.executions.bulk({ filter: { flowId: flow.id }, action: "delete" });
		expect(answer).toMatchObject({ done: 0, failed: 1 });
		expect(await flow.state()).toBe("completed");
	});

	test("a delete is told in the feed", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await flow.complete("a");
		await scene.backend.flows.delete(flow.id);
		await scene.clock.settle();
		const { events } = await scene.backend.feed.read({ limit: 1000 });
		const deleted = events.filter(({ type }) => type === "deleted");
		expect(deleted.map(({ flowId }) => flowId)).toEqual([flow.id, flow.id]);
		expect(deleted.map(({ executionId }) => executionId).sort()).toEqual([flow.idOf("a"), undefined].sort());
	});
}
