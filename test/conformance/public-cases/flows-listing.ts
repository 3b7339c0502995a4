import { expect } from "vitest";
import type { ListRequest } from "../../../src/index.ts";
import { chain, type FlowAtWork, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

/** Keys of the members a list gives, page by page. */
async function listed(flow: FlowAtWork, request: Partial<ListRequest> = {}): Promise<string[]> {
	const keys = new Map(Object.entries(flow.nodes).map(([key, id]) => [id, key]));
	const found: string[] = [];
	for (let cursor: string | undefined; ; ) {
		const page = await flow.scene.backend.executions.list({
			flowId: flow.id,
			...request,
			...(cursor === undefined ? undefined : { cursor }),
		});
		found.push(...page.executions.map(({ id }) => keys.get(id) ?? "a stranger"));
		cursor = page.nextCursor;
		if (cursor === undefined) return found;
	}
}

async function mixed(scene: Scene): Promise<FlowAtWork> {
	await scene.create({ kind: "a" });
	await flowOf(scene, { nodes: ["a", "b"] });
	return flowOf(scene, {
		nodes: [
			"a",
			{ key: "b", tags: { team: "red" } },
			{ key: "c", lane: "side", tags: { team: "red" } },
			{ key: "d", delayMs: 1000 },
		],
		edges: ["a > b"],
	});
}

/** Finding the members of a flow. */
export function flowListingCases(test: PublicCase): void {
	test("a list by flowId gives the members of that flow, the last first", async (scene) => {
		const flow = await mixed(scene);
		const found = await listed(flow);
		expect([...found].sort()).toEqual(["a", "b", "c", "d"]);
		expect(found).toEqual((await flow.look()).nodes.map(({ key }) => key).reverse());
	});

	test("it can be narrowed by whatever lists are narrowed by", async (scene) => {
		const flow = await mixed(scene);
		expect(await listed(flow, { state: "waiting" })).toEqual(expect.arrayContaining(["a", "c"]));
		expect(await listed(flow, { state: "waiting" })).toHaveLength(2);
		expect(await listed(flow, { state: "delayed" })).toEqual(["d"]);
		expect(await listed(flow, { state: "completed" })).toEqual([]);
		expect(await listed(flow, { kind: "b" })).toEqual(["b"]);
		expect(await listed(flow, { lane: "side" })).toEqual(["c"]);
		expect([...(await listed(flow, { tag: "team:red" }))].sort()).toEqual(["b", "c"]);
		expect(await listed(flow, { tag: "team:red", lane: "default" })).toEqual(["b"]);
		expect(await listed(flow, { createdAfter: scene.now + 1 })).toEqual([]);
		expect(await listed(flow, { createdAfter: scene.now, createdBefore: scene.now + 1 })).toHaveLength(4);
		expect(await listed(flow, { namespace: "default" })).toHaveLength(4);
		expect(await listed(flow, { namespace: "other" })).toEqual([]);
	});

	test("it is read in pages without a gap or a repeat", async (scene) => {
		const keys = numbered(25);
		const flow = await flowOf(scene, { nodes: keys, edges: chain(keys) });
		await flow.complete("n0", "n1");
		await flow.take("n2");
		for (const limit of [1, 4, 25, 100]) expect(await listed(flow, { limit })).toEqual([...keys].reverse());
		expect(await listed(flow, { limit: 3, state: "waiting_children" })).toEqual(keys.slice(3).reverse());
	});

	test("it is stable while members move on", async (scene) => {
		const keys = numbered(10);
		const flow = await flowOf(scene, { nodes: keys });
		const first = await scene.backend.executions.list({ flowId: flow.id, limit: 4 });
		await flow.complete(...keys);
		const rest = await scene.backend.executions.list({ flowId: flow.id, limit: 10, cursor: first.nextCursor ?? "" });
		const ids = [...first.executions, ...rest.executions].map(({ id }) => id);
		expect(ids).toEqual([...keys].reverse().map((key) => flow.idOf(key)));
	});

	test("members that are added come into it", async (scene) => {
		const flow = await growing(scene, ["a"]);
		await flow.addMember("b");
		expect(await listed(flow)).toEqual(["b", "a"]);
	});

	test("of a flow that is not there it gives nothing, and of no id a refusal", async (scene) => {
		const none = await scene.backend.executions.list({ flowId: `fl_${"0".repeat(32)}_7` });
		expect(none).toEqual({ executions: [] });
		expect(await refusal(scene.backend.executions.list({ flowId: "nonsense" }))).toMatchObject({
			code: "invalid_input",
			details: { field: "flowId" },
		});
	});

	test("members are in the lists of their namespace and lane like any work", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", lane: "side" }], edges: ["a > b"] });
		expect((await scene.listed()).sort()).toEqual(Object.values(flow.nodes).sort());
		const { executions } = await scene.backend.executions.list({ lane: "side", state: "waiting_children" });
		expect(executions).toMatchObject([{ id: flow.idOf("b"), flowId: flow.id }]);
		const lanes = (await scene.backend.lanes.list()).lanes;
		expect(lanes.find(({ lane }) => lane === "side")?.depth).toEqual({ waiting_children: 1 });
	});

	test("members can be cancelled and replayed together by their flow", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["b > c"] });
		const { executions } = scene.backend;
		expect(await executions.bulk({ filter: { flowId: flow.id, state: "waiting" }, action: "cancel" })).toMatchObject({
			done: 2,
			failed: 0,
		});
		expect(await flow.states()).toEqual({ a: "cancelled", b: "cancelled", c: "skipped" });
		await executions.bulk({ filter: { flowId: flow.id, state: "cancelled" }, action: "replay" });
		expect(await flow.states()).toEqual({ a: "waiting", b: "waiting", c: "waiting_children" });
	});
}
