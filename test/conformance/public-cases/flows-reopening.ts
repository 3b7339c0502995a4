import { expect } from "vitest";
import { chain, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

const HOUR = 3_600_000;

/** Flows outlive the engine that ran them. */
export function flowReopeningCases(test: PublicCase): void {
	test("flows, their events, lists and keys are as they were, and go on", async (scene) => {
		const given = { idempotencyKey: "k", kind: "release", tags: { a: "b" }, nodes: ["a", "b", "c"] };
		const flow = await flowOf(scene, { ...given, edges: ["a > b as x", "b > c"] });
		await flow.completeWith("a", "x".repeat(50_000));
		const { id, fence } = await flow.take("b");
		const look = async () => [
			await flow.look(),
			await flow.events(),
			await scene.backend.flows.list(),
			await scene.backend.executions.list({ flowId: flow.id }),
		];
		const before = await look();
		await scene.reopen();
		expect(await look()).toEqual(before);
		await scene.backend.leases.release(id, { fence });
		expect(await flow.take("b")).toMatchObject({ parents: { x: { result: "x".repeat(50_000) } } });
	});

	test("a flow that is being built is built on, and its cycles are still told", async (scene) => {
		const flow = await growing(scene, ["a", "b", "c"], ["a > b"]);
		await scene.reopen();
		await flow.addEdge("b > c");
		expect((await refusal(flow.addEdge("c > a"))).code).toBe("cycle_detected");
		expect((await refusal(flow.addEdge("a > c", { expectedRevision: 1 }))).code).toBe("stale_graph_revision");
		expect(await flow.addMember("a")).toMatchObject({ created: false });
		await flow.seal();
		await flow.complete("a", "b", "c");
		expect(await flow.state()).toBe("completed");
	});

	const follows: Record<string, string[]> = {
		"in a row": chain(["a", ...numbered(300)]),
		"side by side": numbered(300).map((to) => `a > ${to}`),
	};
	for (const [what, edges] of Object.entries(follows)) {
		test(`what follows from an end goes on through 300 ${what} after an engine stopped in the middle`, async (scene) => {
			const flow = await flowOf(scene, { nodes: ["a", ...numbered(300)], edges });
			await flow.fail("a");
			await scene.reopen();
			expect(await flow.look()).toMatchObject({ state: "failed", counts: { failed: 1, skipped: 300 } });
		});
	}

	test("a cancel reaches every member, though an engine stopped in the middle", async (scene) => {
		const flow = await flowOf(scene, { nodes: numbered(300).map((key) => ({ key, kind: "job" })) });
		await scene.backend.flows.cancel(flow.id, { policy: "cancel_all", reason: "enough" });
		await scene.reopen();
		expect(await scene.claim({ max: 256 })).toEqual([]);
		expect(await flow.look()).toMatchObject({
			state: "cancelled",
			counts: { cancelled: 300 },
			cancel: { reason: "enough" },
		});
	});

	test("what a satisfied group has no more use for is let go, though an engine stopped in the middle", async (scene) => {
		const keys = numbered(200);
		const flow = await flowOf(scene, {
			nodes: [...keys, "z"],
			edges: keys.map((from) => `${from} > z`),
			groups: [{ node: "z", policy: "any_of", onSatisfied: "cancel_remaining" }],
		});
		await flow.complete("n0");
		await scene.reopen();
		expect((await flow.look()).counts).toEqual({ completed: 1, cancelled: 199, waiting: 1 });
	});

	test("a flow that is deleted goes whole, though an engine stopped in the middle", async (scene) => {
		const before = await scene.records();
		const flow = await growing(scene, numbered(300));
		await scene.backend.flows.delete(flow.id);
		await scene.reopen();
		await scene.clock.settle();
		expect(await scene.records()).toEqual(before);
		expect((await refusal(scene.backend.flows.get(flow.id))).code).toBe("flow_not_found");
	});

	test("delays, deadlines, graces and retention of flows that came due meanwhile take effect", async (scene) => {
		const ended = await flowOf(scene, { retentionMs: 1000, nodes: ["a"] });
		await ended.complete("a");
		const waiting = await flowOf(scene, {
			nodes: [
				"b",
				{ key: "late", delayMs: 1000 },
				{ key: "due", policy: { timeouts: { deadlineMs: 1000 } } },
				"behind",
			],
			edges: ["b > late", "due > behind on failure"],
		});
		await waiting.complete("b");
		const asked = await flowOf(scene, { nodes: ["c"] });
		await asked.take("c");
		await scene.backend.flows.cancel(asked.id, { policy: "cancel_all", graceMs: 1000 });
		await scene.clock.settle();
		await scene.reopen(HOUR);
		await scene.clock.settle();
		expect((await refusal(scene.backend.flows.get(ended.id))).code).toBe("flow_not_found");
		expect(await waiting.states()).toEqual({ b: "completed", late: "waiting", due: "expired", behind: "waiting" });
		expect(await asked.state()).toBe("cancelled");
	});

	test("a large flow whose maker stopped in the middle is whole or not at all, and is made again under its key", async (scene) => {
		const before = await scene.records();
		const keys = numbered(400);
		const given = { idempotencyKey: "k", nodes: keys.map((key) => ({ key, kind: "job" })), edges: chain(keys) };
		const making = flowOf(scene, given).catch(() => undefined);
		await new Promise((resolve) => setImmediate(resolve));
		await scene.reopen();
		await making;
		await scene.clock.advance(120_000);
		const { flows } = await scene.backend.flows.list();
		if (flows.length === 0) expect(await scene.records()).toEqual(before);
		const flow = await flowOf(scene, given);
		expect(await flow.look()).toMatchObject({ nodeCount: 400, counts: { waiting: 1, waiting_children: 399 } });
		expect(await scene.listed()).toHaveLength(400);
		expect(await scene.backend.flows.list()).toMatchObject({ flows: [{ id: flow.id }] });
	});
}
