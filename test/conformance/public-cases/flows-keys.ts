import { expect } from "vitest";
import { type DrawnFlow, drawn, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const DAY = 86_400_000;
const make = (scene: Scene, given: DrawnFlow) => scene.backend.flows.create(drawn(given));
const keyed: DrawnFlow = { idempotencyKey: "k", nodes: ["a", "b"], edges: ["a > b"] };
const conflict = { code: "idempotency_conflict", status: 409 };

/** Idempotency keys of flows, and of their nodes. */
export function flowKeyCases(test: PublicCase): void {
	test("a flow made again under its key is the first one", async (scene) => {
		const first = await make(scene, keyed);
		await scene.clock.advance(1000);
		expect(await make(scene, keyed)).toEqual({ ...first, created: false });
		expect((await scene.backend.flows.list()).flows).toHaveLength(1);
		expect(await scene.listed()).toHaveLength(2);
	});

	test("it is the first one also when it has grown, or ended", async (scene) => {
		const flow = await flowOf(scene, { ...keyed, sealed: false });
		await flow.addMember("c");
		await flow.seal();
		const again = await make(scene, { ...keyed, sealed: false });
		expect(again).toMatchObject({ id: flow.id, created: false, revision: 3, nodes: flow.nodes });
		await flow.complete("a", "b", "c");
		expect(await make(scene, { ...keyed, sealed: false })).toMatchObject({ id: flow.id, created: false });
	});

	const others: Record<string, DrawnFlow> = {
		"another node": { ...keyed, nodes: ["a", "b", "c"] },
		"another input of a node": { ...keyed, nodes: ["a", { key: "b", input: 1 }] },
		"another edge": { ...keyed, edges: ["b > a"] },
		"another group": { ...keyed, groups: [{ node: "b", policy: "any_of" }] },
		"another kind": { ...keyed, kind: "other" },
		"other tags": { ...keyed, tags: { x: "1" } },
		"no seal": { ...keyed, sealed: false },
	};
	for (const [what, other] of Object.entries(others)) {
		test(`${what} under the same key is a conflict`, async (scene) => {
			await make(scene, keyed);
			const before = await scene.records();
			expect(await refusal(make(scene, other))).toMatchObject(conflict);
			expect(await scene.records()).toEqual(before);
		});
	}

	test("a field given with its default counts as left out", async (scene) => {
		const first = await make(scene, keyed);
		const again = await scene.backend.flows.create({
			idempotencyKey: "k",
			namespace: "default",
			tags: {},
			budgets: [],
			sealed: true,
			groups: [],
			nodes: [
				{ key: "a", kind: "a", lane: "default", priority: 0 },
				{ key: "b", kind: "b", namespace: "default" },
			],
			edges: [{ from: "a", to: "b", on: "success" }],
		});
		expect(again).toEqual({ ...first, created: false });
	});

	test("an empty key is none", async (scene) => {
		const [a, b] = [await make(scene, { ...keyed, idempotencyKey: "" }), await make(scene, keyed)];
		expect(a.id).not.toBe(b.id);
		expect(await scene.backend.flows.get(a.id)).not.toHaveProperty("idempotencyKey");
	});

	test("a key belongs to its namespace", async (scene) => {
		const first = await make(scene, keyed);
		expect(await make(scene, { ...keyed, namespace: "other" })).toMatchObject({ created: true });
		expect(await make(scene, keyed)).toMatchObject({ id: first.id, created: false });
	});

	test("flows and executions share their keys", async (scene) => {
		await make(scene, keyed);
		expect(await refusal(scene.create({ idempotencyKey: "k" }))).toMatchObject(conflict);
		await scene.create({ idempotencyKey: "e" });
		expect(await refusal(make(scene, { ...keyed, idempotencyKey: "e" }))).toMatchObject(conflict);
	});

	test("a key ends after a day, or with its flow", async (scene) => {
		const first = await make(scene, keyed);
		await scene.clock.advance(DAY - 1);
		expect(await make(scene, keyed)).toMatchObject({ id: first.id });
		await scene.clock.advance(1);
		const second = await make(scene, keyed);
		expect(second).toMatchObject({ created: true });
		await scene.backend.flows.cancel(second.id, { policy: "cancel_all" });
		await scene.clock.settle();
		await scene.backend.flows.delete(second.id);
		expect(await make(scene, keyed)).toMatchObject({ created: true });
	});

	test("of several who make a large flow under one key at once, one does and all learn of it", async (scene) => {
		const large = { idempotencyKey: "k", nodes: numbered(150) };
		const calls = [1, 2, 3].map(() => make(scene, large));
		await scene.clock.advance(1000);
		const made = await Promise.all(calls);
		expect(new Set(made.map(({ id }) => id)).size).toBe(1);
		expect(made.filter(({ created }) => created)).toHaveLength(1);
		for (const { nodes } of made) expect(nodes).toEqual(made[0]?.nodes);
		expect(await scene.listed()).toHaveLength(150);
	});

	test("a node under a key is found by it, and another body is a conflict", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", idempotencyKey: "k", input: 1 }, "b"] });
		expect(await scene.backend.executions.create({ kind: "a", idempotencyKey: "k", input: 1 })).toMatchObject({
			id: flow.idOf("a"),
			created: false,
		});
		expect(await refusal(scene.create({ kind: "a", idempotencyKey: "k" }))).toMatchObject(conflict);
	});

	test("a node under a key that another execution holds is a conflict, and nothing is left", async (scene) => {
		const id = await scene.create({ kind: "a", idempotencyKey: "k" });
		const before = await scene.records();
		for (const nodes of [
			["x", { key: "a", idempotencyKey: "k" }],
			["x", { key: "y", idempotencyKey: "free" }, { key: "a", idempotencyKey: "k", input: 2 }],
		])
			expect(await refusal(flowOf(scene, { nodes }))).toMatchObject({ ...conflict, details: { executionId: id } });
		await scene.clock.settle();
		expect(await scene.records()).toEqual(before);
		const growing = await flowOf(scene, { nodes: [], sealed: false });
		expect(await refusal(growing.addMember({ key: "a", idempotencyKey: "k" }))).toMatchObject(conflict);
		expect((await growing.look()).nodeCount).toBe(0);
	});

	test("a node under a key of a flow, or of a node of another, is a conflict", async (scene) => {
		await make(scene, keyed);
		expect(await refusal(flowOf(scene, { nodes: [{ key: "a", idempotencyKey: "k" }] }))).toMatchObject(conflict);
		await flowOf(scene, { nodes: [{ key: "a", idempotencyKey: "n" }] });
		expect(await refusal(flowOf(scene, { nodes: [{ key: "a", idempotencyKey: "n" }] }))).toMatchObject(conflict);
		expect(await refusal(make(scene, { ...keyed, idempotencyKey: "n" }))).toMatchObject(conflict);
	});

	test("two nodes of a flow under one key are a conflict, and the key is free again", async (scene) => {
		const nodes = ["a", "b"].map((key) => ({ key, idempotencyKey: "k" }));
		const before = await scene.records();
		expect(await refusal(flowOf(scene, { nodes }))).toMatchObject(conflict);
		await scene.clock.settle();
		expect(await scene.records()).toEqual(before);
		await scene.create({ idempotencyKey: "k" });
	});

	test("a member added again under its key is the same one", async (scene) => {
		const flow = await growing(scene);
		const first = await flow.addMember({ key: "a", idempotencyKey: "k" });
		expect(await flow.addMember({ key: "a", idempotencyKey: "k" })).toEqual({ ...first, created: false });
		expect(await refusal(flow.addMember({ key: "b", idempotencyKey: "k" }))).toMatchObject(conflict);
		expect((await flow.look()).nodeCount).toBe(1);
	});

	test("the key of a node is free when its flow is gone", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", idempotencyKey: "k" }] });
		await flow.complete("a");
		await scene.backend.flows.delete(flow.id);
		await scene.clock.settle();
		expect(await scene.create({ idempotencyKey: "k" })).not.toBe(flow.idOf("a"));
		const again = { nodes: [{ key: "a", idempotencyKey: "j" }] };
		const second = await flowOf(scene, again);
		await second.complete("a");
		await scene.backend.flows.delete(second.id);
		await flowOf(scene, again);
	});

	test("a node under the key of its own flow is a conflict, and nothing is left", async (scene) => {
		const before = await scene.records();
		const nodes = [{ key: "a", idempotencyKey: "k" }];
		expect(await refusal(make(scene, { idempotencyKey: "k", nodes }))).toMatchObject(conflict);
		await scene.clock.settle();
		expect(await scene.records()).toEqual(before);
		await make(scene, keyed);
	});
}
