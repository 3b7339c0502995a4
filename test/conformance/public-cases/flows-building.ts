import { expect } from "vitest";
import { edge, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** Building a flow step by step. */
export function flowBuildingCases(test: PublicCase): void {
	test("a flow grows by members and edges, and each tells the revision it made", async (scene) => {
		const flow = await growing(scene);
		expect(await flow.addMember("a")).toEqual({
			executionId: expect.stringMatching(/^ex_/),
			revision: 2,
			nodeCount: 1,
			created: true,
		});
		expect(await flow.addMember("b")).toMatchObject({ revision: 3, nodeCount: 2 });
		expect(await flow.addEdge("a > b")).toEqual({
			edgeId: expect.stringMatching(/^ed_/),
			revision: 4,
			created: true,
		});
		expect(await scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" })).toEqual({ revision: 5 });
		expect(await scene.backend.flows.seal(flow.id)).toEqual({ revision: 6 });
		expect(await flow.look()).toMatchObject({ revision: 6, sealed: true, nodeCount: 2, edgeCount: 1 });
		await flow.complete("a", "b");
		expect(await flow.state()).toBe("completed");
	});

	test("a member can run as soon as it was added", async (scene) => {
		const flow = await growing(scene);
		await flow.addMember({ key: "a", input: 5 });
		expect(await flow.take("a")).toMatchObject({ input: 5, flowId: flow.id });
		expect(await flow.state()).toBe("running");
	});

	test("an unsealed flow stays open when all its members have ended, until it is sealed", async (scene) => {
		const flow = await growing(scene, ["a"]);
		await flow.complete("a");
		expect(await flow.state()).toBe("open");
		await flow.seal();
		expect(await flow.state()).toBe("completed");
	});

	test("an unsealed flow without members is open, too", async (scene) => {
		const flow = await growing(scene);
		expect(await flow.state()).toBe("open");
		await flow.seal();
		expect(await flow.state()).toBe("completed");
	});

	test("an identical member changes nothing, and another under its key is refused", async (scene) => {
		const flow = await growing(scene, ["a"]);
		const { executionId } = await flow.addMember({ key: "b", input: { x: 1, y: 2 } });
		const before = await flow.look();
		expect(await flow.addMember({ key: "b", input: { x: 1, y: 2 }, priority: 0 })).toEqual({
			executionId,
			revision: 2,
			nodeCount: 2,
			created: false,
		});
		expect(await flow.addMember("a")).toMatchObject({ executionId: before.nodes[0]?.executionId, created: false });
		const error = await refusal(flow.addMember({ key: "b", input: 3 }));
		expect(error).toMatchObject({ code: "duplicate_node", status: 409, details: { node: "b" } });
		expect(await flow.look()).toEqual(before);
	});

	test("an identical edge changes nothing, whatever revision it names, also after the seal", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		const { edgeId, revision } = await flow.addEdge("a > b as x");
		await flow.addMember("c");
		for (const expectedRevision of [0, 1, 99])
			expect(await flow.addEdge("a > b as x", { expectedRevision })).toEqual({
				edgeId,
				revision: revision + 1,
				created: false,
			});
		await flow.seal();
		expect(await flow.addEdge("a > b on success as x", { expectedRevision: 1 })).toMatchObject({
			edgeId,
			created: false,
		});
		expect((await flow.look()).edges).toHaveLength(1);
	});

	test("another edge on the same pair is refused", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		const { edgeId } = await flow.addEdge("a > b");
		for (const other of ["a > b on failure", "a > b on completion", "a > b as x"])
			expect(await refusal(flow.addEdge(other))).toMatchObject({
				code: "duplicate_edge",
				status: 409,
				details: { from: "a", to: "b", edgeId },
			});
	});

	test("an edge thought of for another revision is refused, and told which there is", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		for (const expectedRevision of [0, 2]) {
			const error = await refusal(flow.addEdge("a > b", { expectedRevision }));
			expect(error).toMatchObject({ code: "stale_graph_revision", status: 409, details: { revision: 1 } });
		}
		await flow.addEdge("a > b");
	});

	test("a group set as it is, and a second seal, change nothing", async (scene) => {
		const { flows } = scene.backend;
		const flow = await growing(scene, ["a", "b"], ["a > b"]);
		expect(await flows.setGroup(flow.id, "b", { policy: "all_of" })).toEqual({ revision: 1 });
		expect(await flows.setGroup(flow.id, "b", { policy: { quorum: 1 } })).toEqual({ revision: 2 });
		expect(await flows.setGroup(flow.id, "b", { policy: { quorum: 1 }, onSatisfied: "let_run" })).toEqual({
			revision: 2,
		});
		expect(await flows.seal(flow.id)).toEqual({ revision: 3 });
		expect(await flows.seal(flow.id)).toEqual({ revision: 3 });
		expect((await flow.eventTypes()).filter((type) => type === "sealed")).toHaveLength(1);
	});

	test("after the seal members, edges and groups are refused", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		await flow.seal();
		const before = await flow.look();
		for (const call of [
			() => flow.addMember("c"),
			() => flow.addEdge("a > b"),
			() => scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" }),
		])
			expect(await refusal(call())).toMatchObject({ code: "flow_sealed", status: 409, details: { flowId: flow.id } });
		expect(await flow.look()).toEqual(before);
	});

	test("a flow that was made sealed refuses them, too", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"] });
		for (const call of [
			() => flow.addMember("c"),
			() => flow.addEdge("a > b"),
			() => scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" }),
		])
			expect((await refusal(call())).code).toBe("flow_sealed");
		expect(await scene.backend.flows.seal(flow.id)).toEqual({ revision: 1 });
	});

	test("an ended flow refuses them as ended, and a seal of it changes nothing", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		await flow.complete("a", "b");
		await flow.seal();
		expect(await flow.state()).toBe("completed");
		for (const call of [
			() => flow.addMember("c"),
			() => flow.addEdge("a > b"),
			() => scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" }),
		])
			expect(await refusal(call())).toMatchObject({
				code: "flow_already_terminal",
				status: 409,
				details: { state: "completed" },
			});
		expect(await scene.backend.flows.seal(flow.id)).toEqual({ revision: 2 });
	});

	test("an edge or a group for a node that is not there is refused by the node's name", async (scene) => {
		const flow = await growing(scene, ["a"]);
		expect(await refusal(flow.addEdge("a > no"))).toMatchObject({
			code: "unknown_node",
			details: { field: "to", node: "no" },
		});
		expect(await refusal(flow.addEdge("no > a"))).toMatchObject({
			code: "unknown_node",
			details: { field: "from", node: "no" },
		});
		expect(await refusal(scene.backend.flows.setGroup(flow.id, "no", { policy: "any_of" }))).toMatchObject({
			code: "unknown_node",
			details: { node: "no" },
		});
	});

	test("an edge from a node to itself is refused", async (scene) => {
		const flow = await growing(scene, ["a"]);
		expect(await refusal(flow.addEdge("a > a"))).toMatchObject({ code: "self_edge", details: { node: "a" } });
	});

	test("an edge that would close a cycle is refused, however long the way round is", async (scene) => {
		const keys = numbered(100);
		const flow = await growing(scene, keys);
		for (const [n, to] of keys.slice(1).entries()) await flow.addEdge(`n${n} > ${to}`);
		const before = await flow.look();
		for (const [from, to] of [
			["n1", "n0"],
			["n99", "n0"],
			["n99", "n50"],
		])
			expect(await refusal(flow.addEdge(`${from} > ${to}`))).toMatchObject({
				code: "cycle_detected",
				status: 409,
				details: { from, to },
			});
		expect(await flow.look()).toEqual(before);
		// The other way round it is none.
		await flow.addEdge("n0 > n99");
	});

	test("of two edges that would close a cycle together one is refused", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		const { flows } = scene.backend;
		const answers = await Promise.allSettled(
			["a > b", "b > a"].map((line) => flows.addEdge(flow.id, { ...edge(line), expectedRevision: 1 })),
		);
		expect(answers.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
		expect((await flow.look()).edges).toHaveLength(1);
	});

	test("a result's name used twice for one downstream is refused", async (scene) => {
		const flow = await growing(scene, ["a", "b", "c", "d"], ["a > c as x"]);
		expect(await refusal(flow.addEdge("b > c as x"))).toMatchObject({
			code: "duplicate_result_name",
			details: { to: "c", passResultAs: "x" },
		});
		await flow.addEdge("b > d as x");
	});

	test("a group that wants more edges than it has is no fault before the seal, and stops that", async (scene) => {
		const { flows } = scene.backend;
		const flow = await growing(scene, ["a", "b", "c"], ["a > c"]);
		await flows.setGroup(flow.id, "c", { policy: { quorum: 2 } });
		expect(await refusal(flows.seal(flow.id))).toMatchObject({ code: "quorum_unreachable", status: 409 });
		const { sealed, revision } = await flow.look();
		expect({ sealed, revision }).toEqual({ sealed: false, revision: 2 });
		await flow.addEdge("b > c", { expectedRevision: revision });
		await flow.seal();
		await flow.complete("a", "b", "c");
	});

	test("any_of and a quorum are not satisfied by no edges", async (scene) => {
		const { flows } = scene.backend;
		const flow = await growing(scene, ["a", "b"]);
		await flows.setGroup(flow.id, "a", { policy: "any_of" });
		await flows.setGroup(flow.id, "b", { policy: { quorum: 1 } });
		expect(await flow.states()).toEqual({ a: "waiting_children", b: "waiting_children" });
		expect((await refusal(flows.seal(flow.id))).code).toBe("quorum_unreachable");
		await flows.setGroup(flow.id, "a", { policy: "all_of" });
		await flows.setGroup(flow.id, "b", { policy: "all_of" });
		await flow.seal();
		expect(await flow.states()).toEqual({ a: "waiting", b: "waiting" });
	});

	test("a node may have any key, and is found by it", async (scene) => {
		const keys = ["__proto__", "constructor", "a/b", "..", "?x=1#y", "é ß 漢 😀", " ", "漢".repeat(256)];
		const { flows } = scene.backend;
		const { id } = await flows.create({ nodes: [{ key: "first", kind: "job" }], sealed: false });
		let revision = 1;
		for (const key of keys) {
			revision = (await flows.addMember(id, { key, kind: "job" })).revision;
			expect(await flows.addMember(id, { key, kind: "job" })).toMatchObject({ revision, created: false });
			revision = (await flows.addEdge(id, { from: "first", to: key, expectedRevision: revision })).revision;
			expect(await flows.setGroup(id, key, { policy: "any_of" })).toEqual({ revision: ++revision });
		}
		const { nodes, edges } = await flows.get(id);
		expect(nodes.map(({ key, group }) => [key, group.policy])).toEqual([
			["first", "all_of"],
			...keys.map((key) => [key, "any_of"]),
		]);
		expect(edges.map(({ to }) => to)).toEqual(keys);
	});

	test("of several who add the same at once one does, and all are told of it", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		const { flows } = scene.backend;
		for (const node of [
			{ key: "c", kind: "c" },
			{ key: "d", kind: "d", idempotencyKey: "k" },
		]) {
			const added = await Promise.all([1, 2, 3].map(() => flows.addMember(flow.id, node)));
			expect(added.filter(({ created }) => created)).toHaveLength(1);
			expect(new Set(added.map(({ executionId }) => executionId)).size).toBe(1);
			const again = await flows.addMember(flow.id, node);
			expect(again).toMatchObject({ created: false, executionId: added[0]?.executionId });
		}
		const found = await scene.backend.executions.create({ kind: "d", idempotencyKey: "k" });
		const { nodes, revision } = await flow.look();
		expect(found).toMatchObject({ id: nodes.find(({ key }) => key === "d")?.executionId, created: false });
		const edges = await Promise.all(
			[1, 2, 3].map(() => flows.addEdge(flow.id, { ...edge("a > b"), expectedRevision: revision })),
		);
		expect(edges.filter(({ created }) => created)).toHaveLength(1);
		expect((await flow.look()).edges).toHaveLength(1);
	});

	test("of many who add members at once each has its own", async (scene) => {
		const flow = await growing(scene);
		const added = await Promise.all(
			numbered(100).map((key) => scene.backend.flows.addMember(flow.id, { key, kind: "job" })),
		);
		expect(added.map(({ nodeCount }) => nodeCount).sort((a, b) => a - b)).toEqual(
			Array.from({ length: 100 }, (_, n) => n + 1),
		);
		expect(await flow.look()).toMatchObject({ nodeCount: 100, revision: 101, counts: { waiting: 100 } });
	});
}
