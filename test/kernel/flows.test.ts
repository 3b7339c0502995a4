import { describe, expect, test } from "vitest";
import { orderGraph } from "../../src/kernel/flows/graph.ts";
import { executionKey } from "../../src/kernel/records/execution.ts";
import { flowKey } from "../../src/kernel/records/flow.ts";
import { evaluate } from "./flow-evaluator.ts";
import { FlowPlay, type PlayedGraph } from "./flow-play.ts";

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
	let state = seed * 2_654_435_761;
	return (below) => {
		state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0;
		return ((state ^ (state >>> 13)) >>> 0) % Math.max(1, below);
	};
}

function randomGraph(pick: (below: number) => number): PlayedGraph {
	const nodes = Array.from({ length: 1 + pick(14) }, (_, n) => `n${n}`);
	const edges: { from: string; to: string; on: "success" | "failure" | "completion" }[] = [];
	const groups: NonNullable<PlayedGraph["groups"]>[number][] = [];
	for (let to = 1; to < nodes.length; to++) {
		const upstream = nodes.slice(0, to).filter(() => pick(3) === 0);
		for (const from of upstream)
			edges.push({
				from,
				to: `n${to}`,
				on: (["success", "success", "failure", "completion"] as const)[pick(4)] ?? "success",
			});
		if (upstream.length === 0 || pick(2) === 0) continue;
		groups.push(
			pick(2) === 0
				? { node: `n${to}`, policy: "any_of" }
				: { node: `n${to}`, policy: "quorum", quorum: 1 + pick(upstream.length) },
		);
	}
	return { nodes, edges, groups };
}

describe("a flow", () => {
	test("of 300 random shapes ends as a simple reading of its graph says, whole or in parts", () => {
		for (let seed = 1; seed <= 300; seed++) {
			const pick = random(seed);
			const graph = randomGraph(pick);
			const ends = new Map(
				graph.nodes.map((key) => [key, pick(3) === 0 ? ("failed" as const) : ("completed" as const)]),
			);
			const play = new FlowPlay(graph, { inParts: seed % 2 === 0 });
			play.play((key) => (ends.get(key) === "failed" ? "fail" : "complete"), pick);
			const expected = evaluate(graph, graph.nodes, ends);
			expect({ seed, states: play.states() }).toEqual({ seed, states: expected.states });
			expect({ seed, outcome: play.flow.outcome }).toEqual({ seed, outcome: expected.outcome });
			expect(play.progress).toMatchObject({ ended: graph.nodes.length, busy: 0 });
		}
	});

	test("of 200 downstreams goes on in steps, and none is lost", () => {
		const downstream = Array.from({ length: 200 }, (_, n) => `d${n}`);
		const edges = [...downstream.map((to) => ({ from: "a", to })), ...downstream.map((from) => ({ from, to: "z" }))];
		const play = new FlowPlay({ nodes: ["a", ...downstream, "z"], edges });
		play.settle();
		const [first] = play.claimAll();
		if (first) play.end(first, "complete");
		expect(downstream.filter((key) => play.state(key) === "waiting")).toHaveLength(64);
		play.play(() => "complete");
		expect(play.flow).toMatchObject({ outcome: "completed" });
		expect(play.state("z")).toBe("completed");
	});

	test("skips a chain of 300 behind a failure, a part at a time", () => {
		const nodes = Array.from({ length: 300 }, (_, n) => `n${n}`);
		const edges = nodes.slice(1).map((to, n) => ({ from: `n${n}`, to }));
		const play = new FlowPlay({ nodes, edges });
		play.play(() => "fail");
		expect(new Set(Object.values(play.states()))).toEqual(new Set(["failed", "skipped"]));
		expect(play.flow.outcome).toBe("failed");
	});

	test("whose first is replayed runs what was skipped because of it, and what had succeeded stays", () => {
		const edges = [
			{ from: "a", to: "b" },
			{ from: "b", to: "c" },
			{ from: "x", to: "c" },
		];
		const play = new FlowPlay({ nodes: ["a", "b", "c", "x"], edges });
		play.play((key) => (key === "a" ? "fail" : "complete"));
		expect(play.states()).toEqual({ a: "failed", b: "skipped", c: "skipped", x: "completed" });
		expect(play.flow.outcome).toBe("failed");
		play.run({ op: "replay", executionId: play.ids.get("a") ?? "", actor: "op" });
		expect(play.states()).toEqual({ a: "waiting", b: "waiting_children", c: "waiting_children", x: "completed" });
		expect(play.flow).toMatchObject({ outcome: "", endedAt: 0 });
		expect(play.record("b").replays).toBe(0);
		expect(play.play(() => "complete")).toEqual(["a", "b", "c"]);
		expect(play.flow.outcome).toBe("completed");
	});

	test("that is replayed while its chain is still being skipped ends as it should", () => {
		const nodes = Array.from({ length: 200 }, (_, n) => `n${n}`);
		const edges = nodes.slice(1).map((to, n) => ({ from: `n${n}`, to }));
		const play = new FlowPlay({ nodes, edges });
		play.settle();
		const [first] = play.claimAll();
		if (first) play.end(first, "fail");
		expect(play.state("n199")).toBe("waiting_children");
		for (;;) {
			const outcome = play.run({ op: "replay", executionId: play.ids.get("n0") ?? "", actor: "op" });
			if (!("unfinished" in outcome)) break;
		}
		expect(play.play(() => "complete")).toHaveLength(200);
		expect(play.flow.outcome).toBe("completed");
	});

	test("that needs one of many lets the others go, and has not failed for that", () => {
		const racers = Array.from({ length: 100 }, (_, n) => `r${n}`);
		const play = new FlowPlay({
			nodes: [...racers, "z"],
			edges: racers.map((from) => ({ from, to: "z" })),
			groups: [{ node: "z", policy: "any_of", cancelsRemaining: true }],
		});
		expect(play.play(() => "complete")).toEqual([expect.stringMatching(/^r/), "z"]);
		expect(racers.filter((key) => play.state(key) === "cancelled")).toHaveLength(99);
		expect(play.flow.outcome).toBe("completed");
	});

	test("whose member was asked to stop, since nobody needed it, and completed all the same, has completed", () => {
		const edges = ["a", "b"].flatMap((from) => [
			{ from, to: "z" },
			{ from, to: "y" },
		]);
		const play = new FlowPlay({
			nodes: ["a", "b", "y", "z"],
			edges,
			groups: [{ node: "z", policy: "any_of", cancelsRemaining: true }],
		});
		const [first, second] = [...play.claimAll(), ...play.claimAll()];
		if (first) play.end(first, "complete");
		play.settle();
		expect(play.record(second?.member?.key ?? "").cancel).toMatchObject({ isSpared: true });
		if (second) play.end(second, "complete");
		expect(play.state("y")).toBe("waiting");
		play.play(() => "complete");
		expect(play.flow.outcome).toBe("completed");
	});

	test("whose group is changed, so that it is satisfied, lets the rest of its upstreams go", () => {
		const edges = ["a", "b"].map((from) => ({ from, to: "z" }));
		const play = new FlowPlay({ nodes: ["a", "b", "z"], edges, isSealed: false });
		const [first] = play.claimAll();
		if (first) play.end(first, "complete");
		expect(play.state("z")).toBe("waiting_children");
		const group = { policy: "any_of", cancelsRemaining: true } as const;
		play.run({ op: "setGroup", flowId: play.flowId, node: "z", group, actor: "me" });
		play.settle();
		expect(play.states()).toMatchObject({ b: "cancelled", z: "waiting" });
		expect(play.progress).toMatchObject({ busy: 0, bad: 0 });
	});

	test("tells why a member was given up after it was replayed too", () => {
		const play = new FlowPlay({ nodes: ["a"], isSealed: false });
		for (let lapses = 0; play.state("a") === "waiting" && lapses < 200; lapses++) {
			play.claimAll();
			play.now += 2e9;
			play.settle();
		}
		play.run({ op: "replay", executionId: play.ids.get("a") ?? "", actor: "op" });
		expect(play.record("a").failure).toBeNull();
		expect(play.record("a").attempt?.failure).toMatchObject({ reason: "max_reclaims_exceeded" });
	});

	test("lets nothing be replayed that would wait for what can never be", () => {
		const play = new FlowPlay({ nodes: ["a", "b"], edges: [{ from: "a", to: "b" }] });
		play.cancel("b");
		play.play(() => "fail");
		const replay = { op: "replay", executionId: play.ids.get("b") ?? "", actor: "op" } as const;
		expect(play.partition.run(replay, play.now)).toMatchObject({ ok: false, code: "member_skipped" });
		play.run({ ...replay, executionId: play.ids.get("a") ?? "" });
		play.run(replay);
		expect(play.play(() => "complete")).toEqual(["a", "b"]);
		expect(play.flow.outcome).toBe("completed");
	});

	test.each(["cancel_all", "cancel_pending"] as const)(
		"cancelled by %s starts nothing more and ends as cancelled",
		(policy) => {
			const nodes = Array.from({ length: 150 }, (_, n) => `n${n}`);
			const play = new FlowPlay({ nodes, edges: [{ from: "n0", to: "n1" }] });
			play.settle();
			const [running] = play.claimAll();
			play.cancelFlow(policy);
			expect(play.claimAll()).toEqual([]);
			play.settle();
			const key = running?.member?.key ?? "";
			expect(play.state(key)).toBe(policy === "cancel_all" ? "cancelled" : "active");
			if (policy === "cancel_pending" && running) {
				play.run({
					op: "release",
					executionId: running.id,
					fence: { leaseId: running.lease?.id ?? "", epoch: running.lease?.epoch ?? 0 },
				});
			}
			expect(new Set(Object.values(play.states()))).toEqual(new Set(["cancelled"]));
			expect(play.flow.outcome).toBe("cancelled");
		},
	);

	test("cancelled alone keeps the rest where it is, paused", () => {
		const play = new FlowPlay({ nodes: ["a", "b", "c"], edges: [{ from: "a", to: "b" }] });
		const [running] = play.claimAll();
		play.cancelFlow("flow_only");
		play.settle();
		if (running) play.end(running, "complete");
		play.settle();
		expect(play.claimAll()).toEqual([]);
		const paused = [...play.ids.keys()].filter((key) => play.record(key).blockingReason === "paused_by_flow_cancel");
		expect(paused).toHaveLength(2);
		play.cancelFlow("cancel_all");
		play.settle();
		expect(play.flow.outcome).toBe("cancelled");
	});

	test("and an execution share one space of idempotency keys", () => {
		const play = new FlowPlay({ nodes: ["a"] });
		const flow = { kind: "play", namespace: "default", retentionMs: 1000, createdBy: "me", actor: "me" };
		const shape = { nodes: 0, edges: 0, isSealed: true, unreachable: 0, whole: { members: [], links: [] } };
		const key = { idempotencyKey: "k", bodyHash: "of a flow" };
		const flowId = "fl_0000000000000000000000000000eeee_7";
		play.run({ op: "createFlow", flowId, ...flow, ...shape, ...key });
		const again = play.partition.run(
			{ op: "createFlow", flowId: flowId.replace("eeee", "dddd"), ...flow, ...shape, ...key },
			1000,
		);
		expect(again).toMatchObject({ ok: true, id: flowId, created: false });
		const create = { op: "create", ...play.work("b"), idempotencyKey: "k", bodyHash: "of work", actor: "me" } as const;
		expect(play.partition.run(create, 1000)).toMatchObject({ ok: false, code: "idempotency_conflict" });
	});

	test("is removed whole when its retention is over, and leaves nothing", () => {
		const nodes = Array.from({ length: 150 }, (_, n) => `n${n}`);
		const edges = nodes.slice(1).map((to) => ({ from: "n0", to }));
		const play = new FlowPlay({ nodes, edges });
		play.play(() => "complete");
		play.now += 10_000;
		play.settle();
		const left = [...play.partition.docs.keys()].filter((key) => key.startsWith("ex_") || key.startsWith("fl_"));
		expect(left).toEqual([]);
	});

	test("that was never whole is removed when nobody goes on with it, and was never seen", () => {
		const play = new FlowPlay({ nodes: ["a"] });
		play.run({
			op: "createFlow",
			flowId: "fl_0000000000000000000000000000ffff_7",
			kind: "play",
			namespace: "default",
			retentionMs: 1000,
			createdBy: "me",
			nodes: 2,
			edges: 0,
			isSealed: true,
			unreachable: 0,
			actor: "me",
		});
		const executionId = "ex_0000000000000000000000000000fffe_7";
		const group = { policy: "all_of" as const, edges: 0, satisfied: 0, impossible: 0 };
		const work = { ...play.work("b"), executionId };
		const part = { members: [{ key: "b", number: 1, group, hasLinks: false, hasParents: false, work }], links: [] };
		const flowId = "fl_0000000000000000000000000000ffff_7";
		const seen = play.partition.events.length;
		play.run({ op: "buildFlow", flowId, part, isLast: false, actor: "me" });
		expect(play.claimAll().map(({ id }) => id)).toEqual([play.ids.get("a")]);
		play.now += 61_000;
		play.settle();
		expect(play.partition.read(flowKey(flowId))).toBeUndefined();
		expect(play.partition.read(executionKey(executionId))).toBeUndefined();
		expect(play.partition.events.slice(seen).filter((event) => event.flowId === flowId)).toEqual([]);
	});
});

test.each([
	[
		"a cycle of 2",
		{
			nodes: ["a", "b"],
			edges: [
				["a", "b"],
				["b", "a"],
			],
		},
		"cycle_detected",
	],
	["a self edge", { nodes: ["a"], edges: [["a", "a"]] }, "self_edge"],
	["an unknown node", { nodes: ["a"], edges: [["a", "b"]] }, "unknown_node"],
	["two of one key", { nodes: ["a", "a"], edges: [] }, "duplicate_node"],
] as const)("%s is refused by name", (_, { nodes, edges }, code) => {
	const given = (edges as readonly (readonly [string, string])[]).map(([from, to]) => ({
		from,
		to,
		on: "success" as const,
	}));
	expect(orderGraph({ nodes, edges: given, groups: [], isSealed: true })).toMatchObject({ ok: false, code });
});
