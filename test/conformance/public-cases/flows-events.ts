import { expect } from "vitest";
import type { AnyEvent } from "../../../src/index.ts";
import { edge, type FlowAtWork, flowOf, growing } from "../flow-work.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

/** An event in a word: whose it is, and what happened. */
const inShort =
	(flow: FlowAtWork) =>
	({ type, executionId }: AnyEvent): string => {
		const [key] = Object.entries(flow.nodes).find(([, id]) => id === executionId) ?? [];
		return key === undefined ? type : `${key} ${type}`;
	};

/** Everything that is told of a flow, read in pages of a size. */
async function readAll(scene: Scene, id: string, limit: number): Promise<AnyEvent[]> {
	const all: AnyEvent[] = [];
	for (let cursor: string | undefined; ; ) {
		const page = await scene.backend.flows.events(id, { limit, ...(cursor === undefined ? undefined : { cursor }) });
		if (page.events.length === 0) return all;
		all.push(...page.events);
		cursor = page.nextCursor;
	}
}

/** What is told of a flow and its members. */
export function flowEventCases(test: PublicCase): void {
	test("events of a flow and of its members are read in one order", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > b", "a > c on failure"] });
		await flow.complete("a", "b");
		await scene.clock.settle();
		expect((await flow.events()).map(inShort(flow))).toEqual([
			"flow_created",
			"a created",
			"b created",
			"c created",
			"a claimed",
			"a completed",
			"edge_resolved",
			"b eligible",
			"edge_resolved",
			"c skipped",
			"b claimed",
			"b completed",
			"flow_ended",
		]);
	});

	test("events of the flow name it and no execution, those of members name both", async (scene) => {
		const flow = await flowOf(scene, { kind: "release", nodes: ["a"] });
		await flow.complete("a");
		const events = await flow.events();
		const own = events.filter(({ executionId }) => executionId === undefined);
		expect(own).toMatchObject([
			{ seq: 1, type: "flow_created", flowId: flow.id, kind: "release", nodes: 1, edges: 0, at: scene.now },
			{ seq: 2, type: "flow_ended", flowId: flow.id, state: "completed" },
		]);
		for (const event of own) expect(event).not.toHaveProperty("executionId");
		const members = events.filter(({ executionId }) => executionId !== undefined);
		expect(members).toHaveLength(3);
		for (const event of members) expect(event).toMatchObject({ flowId: flow.id, executionId: flow.idOf("a") });
	});

	test("a member's events are those of its execution, too", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		await flow.complete("a", "b");
		const ofB = (await flow.events()).filter(({ executionId }) => executionId === flow.idOf("b"));
		expect(await scene.events(flow.idOf("b"))).toEqual(ofB);
		expect(ofB.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
	});

	test("building is told step by step, with who did it", async (scene) => {
		const flow = await growing(scene);
		await flow.addMember("a");
		await flow.addMember("b");
		const { edgeId } = await flow.addEdge("a > b on completion");
		await flow.seal();
		const own = (await flow.events()).filter(({ executionId }) => executionId === undefined);
		expect(own).toMatchObject([
			{ type: "flow_created", sealed: false, actor: "local" },
			{ type: "member_added", node: "a", memberId: flow.idOf("a"), actor: "local" },
			{ type: "member_added", node: "b", memberId: flow.idOf("b") },
			{ type: "edge_added", edgeId, from: "a", to: "b", on: "completion" },
			{ type: "sealed", nodes: 2, edges: 1 },
		]);
		expect(own.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
	});

	test("a resolved edge is told with what became of it", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		const [{ id: edgeId } = { id: "" }] = (await flow.look()).edges;
		await flow.fail("a");
		const resolved = (await flow.events()).filter(({ type }) => type === "edge_resolved");
		expect(resolved).toMatchObject([{ edgeId, from: "a", to: "b", state: "impossible", flowId: flow.id }]);
	});

	test("a cancel is told with its policy, reason and who asked for it", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		await scene.backend.flows.cancel(flow.id, { policy: "cancel_all", reason: "enough" });
		await scene.clock.settle();
		const events = (await flow.events()).slice(2);
		expect(events).toMatchObject([
			{ type: "flow_cancel_requested", policy: "cancel_all", reason: "enough", actor: "local" },
			{ type: "cancelled", executionId: flow.idOf("a"), source: "flow", reason: "enough" },
			{ type: "flow_ended", state: "cancelled" },
		]);
	});

	test("events are read in pages of any size without a gap or a repeat", async (scene) => {
		const keys = Array.from({ length: 70 }, (_, n) => `n${n}`);
		const flow = await flowOf(scene, { nodes: ["a", ...keys], edges: keys.map((to) => `a > ${to}`) });
		await flow.complete("a");
		await scene.clock.settle();
		const all = await flow.events();
		expect(all).toHaveLength(1 + 71 + 2 + 2 * 70);
		for (const limit of [1, 7, 100]) expect(await readAll(scene, flow.id, limit)).toEqual(all);
	});

	test("two flows tell each of its own", async (scene) => {
		const [one, other] = [await flowOf(scene, { nodes: ["a"] }), await flowOf(scene, { nodes: ["b"] })];
		await other.complete("b");
		await one.complete("a");
		expect((await one.events()).map(inShort(one))).toEqual([
			"flow_created",
			"a created",
			"a claimed",
			"a completed",
			"flow_ended",
		]);
		for (const { flowId } of await other.events()) expect(flowId).toBe(other.id);
	});

	test("a reader that waits is told what happens next to any member", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		const { nextCursor } = await scene.backend.flows.events(flow.id);
		const waiting = scene.backend.flows.events(flow.id, { cursor: nextCursor ?? "", waitMs: 30_000 });
		await scene.clock.settle();
		await scene.create({ kind: "unrelated" });
		await scene.clock.settle();
		const { id, fence } = await flow.take("a");
		expect((await waiting).events.map(inShort(flow))).toEqual(["a claimed"]);
		const again = scene.backend.flows.events(flow.id, { cursor: (await waiting).nextCursor ?? "", waitMs: 30_000 });
		await scene.clock.settle();
		await scene.backend.leases.complete(id, { fence });
		expect((await again).events.map(inShort(flow))).toEqual(["a completed", "edge_resolved", "b eligible"]);
	});

	test("a reader that waits in vain is told so with the same cursor", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		const { nextCursor } = await scene.backend.flows.events(flow.id);
		const waiting = scene.backend.flows.events(flow.id, { cursor: nextCursor ?? "", waitMs: 1000 });
		await scene.clock.advance(1000);
		expect(await waiting).toEqual({ events: [], nextCursor });
	});

	test("the feed of the namespace has them all", async (scene) => {
		const flow = await growing(scene, ["a"]);
		await flow.addMember("b");
		await scene.backend.flows.addEdge(flow.id, { ...edge("a > b"), expectedRevision: 2 });
		await flow.seal();
		await flow.complete("a", "b");
		const { events } = await scene.backend.feed.read({ limit: 1000 });
		expect(events.map(({ type }) => type)).toEqual(await flow.eventTypes());
		expect(await flow.eventTypes()).toContain("flow_ended");
	});

	test("a cursor of something else is refused", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		const { nextCursor } = await scene.backend.executions.events(flow.idOf("a"));
		const error = await refusal(scene.backend.flows.events(flow.id, { cursor: nextCursor ?? "" }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
	});
}
