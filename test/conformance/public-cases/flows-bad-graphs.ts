import { expect } from "vitest";
import { chain, drawn, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

const node = (fields: object): object => ({ nodes: [{ key: "a", kind: "a" }, fields] });
const two = (more: object): object => ({ ...drawn({ nodes: ["a", "b"], edges: ["a > b"] }), ...more });
const grouped = (group: object): object => two({ groups: [group] });

/** By what is wrong: the flow, the code of its refusal, and the details that say where. */
const badGraphs: Record<string, [flow: () => object, code: string, details: object]> = {
	"a cycle of 2": [
		() => drawn({ nodes: ["a", "b"], edges: ["a > b", "b > a"] }),
		"cycle_detected",
		{ nodes: ["a", "b"], count: 2 },
	],
	"a cycle of 3 behind a node that is in none": [
		() => drawn({ nodes: ["x", "a", "b", "c"], edges: ["x > a", "a > b", "b > c", "c > a"] }),
		"cycle_detected",
		{ nodes: ["a", "b", "c"], count: 3 },
	],
	"a cycle of 5,000": [
		() => drawn({ nodes: numbered(5000), edges: [...chain(numbered(5000)), "n4999 > n0"] }),
		"cycle_detected",
		{ count: 5000 },
	],
	"a chain of 10,000 with an edge back by one": [
		() => drawn({ nodes: numbered(10_000), edges: [...chain(numbered(10_000)), "n9999 > n9998"] }),
		"cycle_detected",
		{ nodes: ["n9998", "n9999"], count: 2 },
	],
	"10,001 nodes": [
		() => drawn({ nodes: numbered(10_001) }),
		"too_many_nodes",
		{ field: "nodes", max: 10_000, nodes: 10_001 },
	],
	"an edge from a node to itself": [
		() => drawn({ nodes: ["a"], edges: ["a > a"] }),
		"self_edge",
		{ field: "edges[0]", node: "a" },
	],
	"an edge from a node that is not there": [
		() => drawn({ nodes: ["a"], edges: ["no > a"] }),
		"unknown_node",
		{ field: "edges[0].from", node: "no" },
	],
	"an edge to a node that is not there": [
		() => drawn({ nodes: ["a", "b"], edges: ["a > b", "a > no"] }),
		"unknown_node",
		{ field: "edges[1].to", node: "no" },
	],
	"a group of a node that is not there": [
		() => grouped({ node: "no", policy: "any_of" }),
		"unknown_node",
		{ field: "groups[0].node", node: "no" },
	],
	"two groups of one node": [
		() => two({ groups: ["any_of", "all_of"].map((policy) => ({ node: "b", policy })) }),
		"duplicate_group",
		{ field: "groups[1].node", node: "b" },
	],
	"two different edges on one pair": [
		() => drawn({ nodes: ["a", "b"], edges: ["a > b", "a > b on failure"] }),
		"duplicate_edge",
		{ field: "edges[1]", from: "a", to: "b" },
	],
	"two nodes of one key": [
		() => drawn({ nodes: ["a", "b", "a"] }),
		"duplicate_node",
		{ field: "nodes[2].key", node: "a" },
	],
	"a result's name used twice for one downstream": [
		() => drawn({ nodes: ["a", "b", "c"], edges: ["a > c as x", "b > c as x"] }),
		"duplicate_result_name",
		{ field: "edges[1]", to: "c", passResultAs: "x" },
	],
	"a quorum larger than its edges": [
		() => grouped({ node: "b", policy: { quorum: 2 } }),
		"quorum_unreachable",
		{ node: "b", edges: 1 },
	],
	"any_of no edges": [() => grouped({ node: "a", policy: "any_of" }), "quorum_unreachable", { node: "a", edges: 0 }],
	"no nodes": [() => ({}), "invalid_input", { field: "nodes" }],
	"nodes that are no list": [() => ({ nodes: "a" }), "invalid_input", { field: "nodes" }],
	"a node that is no object": [() => ({ nodes: ["a"] }), "invalid_input", { field: "nodes[0]" }],
	"a node that is null": [() => ({ nodes: [null] }), "invalid_input", { field: "nodes[0]" }],
	"a node without a key": [() => node({ kind: "b" }), "invalid_input", { field: "nodes[1].key" }],
	"a node with an empty key": [() => node({ key: "", kind: "b" }), "invalid_input", { field: "nodes[1].key" }],
	"a node with a key of 257 characters": [
		() => node({ key: "x".repeat(257), kind: "b" }),
		"invalid_input",
		{ field: "nodes[1].key" },
	],
	"a node with a key of a megabyte": [
		() => node({ key: "x".repeat(1_000_000), kind: "b" }),
		"invalid_input",
		{ field: "nodes[1].key" },
	],
	"a node whose key is a number": [() => node({ key: 5, kind: "b" }), "invalid_input", { field: "nodes[1].key" }],
	"a node with half a character for a key": [
		() => node({ key: "\ud800", kind: "b" }),
		"invalid_input",
		{ field: "nodes[1].key" },
	],
	"a node without a kind": [() => node({ key: "b" }), "invalid_input", { field: "nodes[1].kind" }],
	"a node with a field that nothing has": [
		() => node({ key: "b", kind: "b", prioritty: 1 }),
		"invalid_input",
		{ field: "nodes[1].prioritty" },
	],
	"a node with a bad policy": [
		() => node({ key: "b", kind: "b", policy: { retry: { maxRetries: -1 } } }),
		"invalid_input",
		{ field: "nodes[1].policy.retry.maxRetries" },
	],
	"a node with a tag that is none": [
		() => node({ key: "b", kind: "b", tags: { "Bad Key": "x" } }),
		"invalid_tag_key",
		{ field: "nodes[1].tags" },
	],
	"a node in another namespace": [
		() => node({ key: "b", kind: "b", namespace: "elsewhere" }),
		"invalid_input",
		{ field: "nodes[1].namespace" },
	],
	"a node with more budgets than there may be": [
		() => node({ key: "b", kind: "b", budgets: numbered(17) }),
		"invalid_input",
		{ field: "nodes[1].budgets" },
	],
	"a node with more budgets than there may be, together with those of its flow": [
		() => ({ budgets: numbered(10), ...node({ key: "b", kind: "b", budgets: numbered(10, "m") }) }),
		"invalid_input",
		{ field: "nodes[1].budgets" },
	],
	"an unknown field of the flow": [() => two({ sealled: true }), "invalid_input", { field: "sealled" }],
	"a seal that is no boolean": [() => two({ sealed: "yes" }), "invalid_input", { field: "sealed" }],
	"a negative retention": [() => two({ retentionMs: -1 }), "invalid_input", { field: "retentionMs" }],
	"an idempotency key of 257 characters": [
		() => two({ idempotencyKey: "k".repeat(257) }),
		"invalid_input",
		{ field: "idempotencyKey" },
	],
	"edges that are no list": [() => two({ edges: {} }), "invalid_input", { field: "edges" }],
	"an edge that is text": [() => two({ edges: ["a > b"] }), "invalid_input", { field: "edges[0]" }],
	"an edge without an end": [() => two({ edges: [{ from: "a" }] }), "invalid_input", { field: "edges[0].to" }],
	"an edge on something else": [
		() => two({ edges: [{ from: "a", to: "b", on: "maybe" }] }),
		"invalid_input",
		{ field: "edges[0].on" },
	],
	"an edge with an empty name": [
		() => two({ edges: [{ from: "a", to: "b", passResultAs: "" }] }),
		"invalid_input",
		{ field: "edges[0].passResultAs" },
	],
	"an edge with a field that nothing has": [
		() => two({ edges: [{ from: "a", to: "b", if: "x" }] }),
		"invalid_input",
		{ field: "edges[0].if" },
	],
	"a group without a policy": [() => grouped({ node: "b" }), "invalid_input", { field: "groups[0].policy" }],
	"a group of an unknown policy": [
		() => grouped({ node: "b", policy: "most_of" }),
		"invalid_input",
		{ field: "groups[0].policy" },
	],
	"a quorum of 0": [
		() => grouped({ node: "b", policy: { quorum: 0 } }),
		"invalid_input",
		{ field: expect.stringMatching(/^groups\[0\]\.policy/) },
	],
	"a group that does something else when satisfied": [
		() => grouped({ node: "b", policy: "any_of", onSatisfied: "explode" }),
		"invalid_input",
		{ field: "groups[0].onSatisfied" },
	],
};

/** Graphs that cannot be, each refused by name with nothing left behind. */
export function badGraphCases(test: PublicCase): void {
	for (const [what, [flow, code, details]] of Object.entries(badGraphs)) {
		test(`${what} is refused by name, and nothing is left`, async (scene) => {
			const before = await scene.records();
			const error = await refusal(scene.backend.flows.create(flow() as never));
			expect({ code: error.code, details: error.details }).toMatchObject({ code, details });
			expect(error.message.length).toBeLessThan(2000);
			expect(await scene.records()).toEqual(before);
			expect(await scene.backend.flows.list()).toEqual({ flows: [] });
		});
	}

	test("the same edge twice is one edge, and a key is any text", async (scene) => {
		const keys = ["__proto__", "constructor", "a/b", "é ß 漢 😀", "x".repeat(256)];
		const created = await scene.backend.flows.create({
			nodes: keys.map((key) => ({ key, kind: "job" })),
			edges: [1, 2].map(() => ({ from: "__proto__", to: "constructor" })),
		});
		expect(Object.keys(created.nodes).sort()).toEqual([...keys].sort());
		const { nodes, edges } = await scene.backend.flows.get(created.id);
		expect(nodes.map(({ key }) => key).sort()).toEqual([...keys].sort());
		expect(edges).toMatchObject([{ from: "__proto__", to: "constructor" }]);
	});

	test("calls about no flow, or with ids that are none, are refused alike", async (scene) => {
		const { flows } = scene.backend;
		const calls: Record<string, (id: string) => Promise<unknown>> = {
			get: (id) => flows.get(id),
			wait: (id) => flows.wait(id, { timeoutMs: 0 }),
			events: (id) => flows.events(id),
			addMember: (id) => flows.addMember(id, { key: "a", kind: "a" }),
			addEdge: (id) => flows.addEdge(id, { from: "a", to: "b", expectedRevision: 1 }),
			setGroup: (id) => flows.setGroup(id, "a", { policy: "any_of" }),
			seal: (id) => flows.seal(id),
			cancel: (id) => flows.cancel(id, { policy: "cancel_all" }),
			delete: (id) => flows.delete(id),
		};
		for (const [name, call] of Object.entries(calls)) {
			const unknown = await refusal(call(`fl_${"0".repeat(32)}_7`));
			expect([name, unknown.code, unknown.status]).toEqual([name, "flow_not_found", 404]);
			for (const id of [
				"nonsense",
				`ex_${"0".repeat(32)}_7`,
				`fl_${"0".repeat(32)}_16384`,
				`fl_${"0".repeat(32)}_07`,
			]) {
				const malformed = await refusal(call(id));
				expect([name, id, malformed.code]).toEqual([name, id, "invalid_input"]);
			}
		}
	});

	test("bad fields of other calls are refused by name and change nothing", async (scene) => {
		const { flows } = scene.backend;
		const { id } = await flows.create({ nodes: [{ key: "a", kind: "a" }], sealed: false });
		const before = await flows.get(id);
		const bad: [field: string, call: () => Promise<unknown>][] = [
			["key", () => flows.addMember(id, { kind: "b" } as never)],
			["kind", () => flows.addMember(id, { key: "b" } as never)],
			["expectedRevision", () => flows.addEdge(id, { from: "a", to: "b" } as never)],
			["expectedRevision", () => flows.addEdge(id, { from: "a", to: "b", expectedRevision: -1 })],
			["on", () => flows.addEdge(id, { from: "a", to: "b", on: "x", expectedRevision: 1 } as never)],
			["policy", () => flows.setGroup(id, "a", {} as never)],
			["policy", () => flows.cancel(id, {} as never)],
			["policy", () => flows.cancel(id, { policy: "everything" } as never)],
			["mode", () => flows.cancel(id, { policy: "cancel_all", mode: "softly" } as never)],
			["graceMs", () => flows.cancel(id, { policy: "cancel_all", graceMs: -1 })],
			["limit", () => flows.list({ limit: 0 })],
			["limit", () => flows.events(id, { limit: 1001 })],
			["cursor", () => flows.events(id, { cursor: "nonsense" })],
		];
		for (const [field, call] of bad) {
			const { code, details } = await refusal(call());
			expect([field, code, details?.field]).toEqual([field, "invalid_input", field]);
		}
		expect(await flows.get(id)).toEqual(before);
	});
}

/** As many nodes as there can be; it takes long. */
export function largestFlowCases(test: PublicCase): void {
	test("10,000 nodes may be; one more is refused", async (scene) => {
		const { flows } = scene.backend;
		const { id } = await flows.create({
			...drawn({ nodes: numbered(10_000).map((key) => ({ key, kind: "job" })) }),
			sealed: false,
		});
		const error = await refusal(flows.addMember(id, { key: "more", kind: "job" }));
		expect(error).toMatchObject({ code: "too_many_nodes", details: { max: 10_000 } });
		expect(await flows.addMember(id, { key: "n9999", kind: "job" })).toMatchObject({ created: false });
		expect((await flows.list()).flows).toMatchObject([{ nodeCount: 10_000, counts: { waiting: 10_000 } }]);
	});
}
