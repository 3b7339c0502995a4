import { expect } from "vitest";
import { flowOf, growing } from "../flow-work.ts";
import type { PublicCase } from "../scene.ts";

const MIB = 1024 * 1024;
/** A JSON string of so many bytes. */
const textOf = (bytes: number): string => "x".repeat(bytes - 2);

/** What upstreams pass to a member, in its claim. */
export function flowResultCases(test: PublicCase): void {
	test("results of all passing parents arrive side by side under their names, beside the input", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", { key: "c", input: { a: "own" } }],
			edges: ["a > c as a", "b > c as input"],
		});
		await flow.completeWith("a", { n: 1 });
		await flow.completeWith("b", [2]);
		const held = await flow.take("c");
		expect(held.input).toEqual({ a: "own" });
		expect(held.parents).toEqual({
			a: {
				executionId: flow.idOf("a"),
				publicState: "completed",
				size: 7,
				contentType: "application/json",
				result: { n: 1 },
			},
			input: {
				executionId: flow.idOf("b"),
				publicState: "completed",
				size: 3,
				contentType: "application/json",
				result: [2],
			},
		});
	});

	test("an edge without a name passes nothing", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > b", "b > c"] });
		await flow.completeWith("a", 1);
		expect((await flow.completeWith("b", 2)).parents ?? {}).toEqual({});
		expect((await flow.take("c")).parents ?? {}).toEqual({});
	});

	test("one result may be passed to many under different names", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > b as x", "a > c as y"] });
		await flow.completeWith("a", "r");
		expect(Object.keys((await flow.take("b")).parents ?? {})).toEqual(["x"]);
		expect(Object.keys((await flow.take("c")).parents ?? {})).toEqual(["y"]);
	});

	test("bytes are passed as they are, with their type", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		const { id, fence } = await flow.take("a");
		await scene.backend.leases.complete(id, { fence, resultBase64: "AP/+", contentType: "image/png" });
		expect((await flow.take("b")).parents?.x).toEqual({
			executionId: id,
			publicState: "completed",
			size: 3,
			contentType: "image/png",
			resultBase64: "AP/+",
		});
	});

	test("an upstream that ended without a result passes that it ended", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		await flow.complete("a");
		expect((await flow.take("b")).parents?.x).toEqual({ executionId: flow.idOf("a"), publicState: "completed" });
	});

	test("a failure is passed with its reason and category", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b on failure as x"] });
		const { id, fence } = await flow.take("a");
		await scene.backend.leases.fail(id, { fence, reason: "no such host", category: "network" });
		expect((await flow.take("b")).parents?.x).toEqual({
			executionId: id,
			publicState: "failed",
			failure: { reason: "no such host", category: "network" },
		});
	});

	test("a cancelled and an expired upstream pass how they ended", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", policy: { timeouts: { queueMs: 10 } } }, "c"],
			edges: ["a > c on completion as x", "b > c on completion as y"],
		});
		await scene.backend.executions.cancel(flow.idOf("a"));
		await scene.clock.advance(10);
		expect((await flow.take("c")).parents).toMatchObject({
			x: { executionId: flow.idOf("a"), publicState: "cancelled" },
			y: { executionId: flow.idOf("b"), publicState: "expired" },
		});
	});

	test("of a group that any may satisfy, those pass that have", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "c"],
			edges: ["a > c as x", "b > c as y"],
			groups: [{ node: "c", policy: "any_of" }],
		});
		await flow.completeWith("b", 2);
		expect(await flow.take("c")).toMatchObject({ parents: { y: { result: 2 } } });
		await flow.completeWith("a", 1);
		const { id, fence } = { id: flow.idOf("c"), fence: (await scene.get(flow.idOf("c"))).lease };
		await scene.backend.leases.release(id, { fence: { leaseId: fence?.id ?? "", epoch: fence?.epoch ?? 0 } });
		expect(await flow.take("c")).toMatchObject({ parents: { x: { result: 1 }, y: { result: 2 } } });
	});

	test("results of a mebibyte together are inline", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > c as x", "b > c as y"] });
		await flow.completeWith("a", textOf(MIB / 2));
		await flow.completeWith("b", textOf(MIB / 2));
		const { parents } = await flow.take("c");
		expect(parents?.x).toMatchObject({ size: MIB / 2, result: textOf(MIB / 2) });
		expect(parents?.y).toMatchObject({ size: MIB / 2, result: textOf(MIB / 2) });
	});

	test("of what goes beyond a mebibyte together the size is told, and it can be read", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "c", "d"],
			edges: ["a > d as x", "b > d as y", "c > d as z"],
		});
		await flow.completeWith("a", textOf(MIB / 2));
		await flow.completeWith("b", textOf(MIB / 2 + 1));
		await flow.completeWith("c", "small");
		const { parents } = await flow.take("d");
		expect(parents?.x).toHaveProperty("result");
		expect(parents?.y).toMatchObject({ executionId: flow.idOf("b"), size: MIB / 2 + 1 });
		expect(parents?.y).not.toHaveProperty("result");
		expect(parents?.z).toMatchObject({ result: "small" });
		expect(await scene.ff.result(parents?.y?.executionId ?? "")).toBe(textOf(MIB / 2 + 1));
	});

	test("results come again with every attempt", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", policy: { retry: { backoff: { type: "fixed", delayMs: 10 } } } }],
			edges: ["a > b as x"],
		});
		await flow.completeWith("a", 1);
		await flow.take("b", { leaseMs: 1000 });
		await scene.clock.advance(1000);
		const reclaimed = await flow.take("b");
		expect(reclaimed).toMatchObject({ attempt: { type: "reclaim" }, parents: { x: { result: 1 } } });
		await scene.backend.leases.fail(reclaimed.id, { fence: reclaimed.fence, reason: "broken" });
		await scene.clock.advance(10);
		expect(await flow.take("b")).toMatchObject({ attempt: { type: "retry" }, parents: { x: { result: 1 } } });
	});

	test("a grant that is accepted brings them, too", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		await flow.completeWith("a", 1);
		const { leases } = scene.backend;
		const grant = await leases.grant({ workerId: "w", instanceId: "w-1", grantTtlMs: 5000 });
		const claimed = await leases.acceptGrant(grant?.grantId ?? "", { instanceId: "w-1" });
		expect(claimed).toMatchObject({ id: flow.idOf("b"), parents: { x: { result: 1 } } });
	});

	test("what is passed is of the end that satisfied the edge, though the upstream was replayed since", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		await flow.completeWith("a", "first");
		await scene.backend.executions.replay(flow.idOf("a"));
		expect(await flow.states()).toEqual({ a: "waiting", b: "waiting" });
		await flow.completeWith("a", "second");
		expect(await flow.take("b")).toMatchObject({ parents: { x: { publicState: "completed", result: "first" } } });
		expect(await scene.ff.result(flow.idOf("a"))).toBe("second");
	});

	test("large results that are passed are still there after a replay of the upstream", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		const large = textOf(100_000);
		await flow.completeWith("a", large);
		await scene.backend.executions.replay(flow.idOf("a"));
		await flow.completeWith("a", "second");
		expect((await flow.take("b")).parents?.x).toMatchObject({ size: 100_000, result: large });
	});

	test("more names than fit into a page, and names of any kind, reach a member", async (scene) => {
		const keys = Array.from({ length: 70 }, (_, n) => `n${n}`);
		const names = new Map([
			["n0", "__proto__"],
			["n1", "constructor"],
			["n2", "漢 /\n"],
		]);
		const { id, nodes } = await scene.backend.flows.create({
			nodes: [...keys, "last"].map((key) => ({ key, kind: key === "last" ? "last" : "job" })),
			edges: keys.map((from) => ({ from, to: "last", passResultAs: names.get(from) ?? from })),
		});
		for (const claimed of await scene.claim({ max: 100 }))
			await scene.backend.leases.complete(claimed.id, {
				fence: { leaseId: claimed.lease.id, epoch: claimed.lease.epoch },
				result: claimed.id,
			});
		const { parents = {}, flowId } = await scene.take();
		expect(flowId).toBe(id);
		const found = Object.entries(parents).map(([name, { result }]) => [name, result]);
		expect(found.sort()).toEqual(keys.map((key) => [names.get(key) ?? key, nodes[key]]).sort());
	});

	test("what was added late passes its results, too", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		await flow.addEdge("a > b as x");
		await flow.completeWith("a", 1);
		expect(await flow.take("b")).toMatchObject({ parents: { x: { result: 1 } } });
	});

	test("a claim brings no more than 4 MiB of what is passed together, and at least one", async (scene) => {
		const keys = Array.from({ length: 10 }, (_, n) => `n${n}`);
		const nodes = ["a", ...keys.map((key) => ({ key, kind: "job" }))];
		const flow = await flowOf(scene, { nodes, edges: keys.map((to) => `a > ${to} as x`) });
		await flow.completeWith("a", textOf(MIB));
		await scene.clock.settle();
		const taken: number[] = [];
		for (let left = 10; left > 0; left -= taken.at(-1) ?? left) {
			const claimed = await scene.claim({ kinds: ["job"], max: 10 });
			for (const { parents } of claimed) expect(parents?.x).toMatchObject({ size: MIB });
			taken.push(claimed.length);
		}
		expect(taken).toEqual([4, 4, 2]);
	});
}
