import { expect } from "vitest";
import { chain, type DrawnFlow, type FlowAtWork, flowOf, numbered } from "../flow-work.ts";
import type { PublicCase, Scene } from "../scene.ts";

/** Every way in which the node "a" of a flow can end. */
const ends: Record<string, (scene: Scene, flow: FlowAtWork) => Promise<unknown>> = {
	completed: (_, flow) => flow.complete("a"),
	failed: (_, flow) => flow.fail("a"),
	cancelled: (scene, flow) => scene.backend.executions.cancel(flow.idOf("a")),
	expired: (scene) => scene.clock.advance(1000),
	skipped: (_, flow) => flow.fail("first"),
};

/** By how its upstream ended: what becomes of a downstream with this edge. */
const followed = {
	success: { completed: "waiting", failed: "skipped", cancelled: "skipped", expired: "skipped", skipped: "skipped" },
	failure: { completed: "skipped", failed: "waiting", cancelled: "waiting", expired: "waiting", skipped: "skipped" },
	completion: { completed: "waiting", failed: "waiting", cancelled: "waiting", expired: "waiting", skipped: "skipped" },
};

/** What an edge makes of the end of its upstream. */
export function flowEdgeCases(test: PublicCase): void {
	for (const [on, outcomes] of Object.entries(followed)) {
		for (const [end, expected] of Object.entries(outcomes)) {
			test(`an edge on ${on} whose upstream is ${end} leaves its downstream ${expected}`, async (scene) => {
				const a = end === "expired" ? { key: "a", policy: { timeouts: { queueMs: 1000 } } } : "a";
				const isBehind = end === "skipped";
				const flow = await flowOf(scene, {
					nodes: [a, "b", ...(isBehind ? ["first"] : [])],
					edges: [`a > b on ${on}`, ...(isBehind ? ["first > a"] : [])],
				});
				await ends[end]?.(scene, flow);
				expect(await flow.states()).toMatchObject({ a: end, b: expected });
				const { edges } = await flow.look();
				const state = expected === "waiting" ? "satisfied" : "impossible";
				expect(edges.find(({ to }) => to === "b")).toMatchObject({ on, state });
			});
		}
	}

	test("an edge that says nothing is on success", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		expect((await flow.look()).edges).toMatchObject([{ on: "success" }]);
	});

	test("a downstream can be claimed as soon as its last upstream is complete", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > c", "b > c"] });
		await flow.complete("a");
		expect(await scene.claim({ kinds: ["c"] })).toEqual([]);
		await flow.complete("b");
		await flow.take("c");
	});

	test("a claim that waits is woken by the end of an upstream", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		const waiting = scene.claim({ kinds: ["b"], waitMs: 30_000 });
		await scene.clock.settle();
		await flow.complete("a");
		expect((await waiting).map(({ id }) => id)).toEqual([flow.idOf("b")]);
	});

	test("a retry is no end", async (scene) => {
		const retry = { maxRetries: 1, backoff: { type: "fixed", delayMs: 1000 } } as const;
		const nodes = [{ key: "a", policy: { retry } }, "b", "c"];
		const flow = await flowOf(scene, { nodes, edges: ["a > b on failure", "a > c"] });
		await flow.fail("a");
		expect(await flow.states()).toEqual({ a: "delayed", b: "waiting_children", c: "waiting_children" });
		await scene.clock.advance(1000);
		await flow.fail("a");
		expect(await flow.states()).toEqual({ a: "failed", b: "waiting", c: "skipped" });
	});

	test("handing back, delaying, suspending and losing a lease are no ends", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b on completion"] });
		const { leases } = scene.backend;
		const waits = async () => expect((await flow.states()).b).toBe("waiting_children");
		const released = await flow.take("a");
		await leases.release(released.id, { fence: released.fence });
		await waits();
		const delayed = await flow.take("a");
		await leases.delay(delayed.id, { fence: delayed.fence, delayMs: 1000 });
		await waits();
		await scene.clock.advance(1000);
		const { id, fence } = await flow.take("a");
		await leases.suspend(id, { fence, reason: "manual_pause", condition: { operatorOnly: true } });
		await waits();
		expect(await flow.state()).toBe("blocked");
		await scene.backend.waitpoints.resume(id);
		await flow.take("a", { leaseMs: 1000 });
		await scene.clock.advance(1000);
		await waits();
		await flow.complete("a", "b");
		expect(await flow.state()).toBe("completed");
	});

	test("lost too often, an upstream has failed, and its edges resolve", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: [{ key: "a", policy: { maxReclaims: 0 } }, "b", "c"],
			edges: ["a > b on failure", "a > c"],
		});
		await flow.take("a", { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect(await flow.states()).toEqual({ a: "failed", b: "waiting", c: "skipped" });
	});

	test("what is skipped ends at once, never ran, and says why", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		await flow.fail("a");
		const id = flow.idOf("b");
		expect(await scene.state(id)).toEqual({
			publicState: "skipped",
			lifecyclePhase: "terminal",
			ownershipState: "unowned",
			eligibilityState: "not_applicable",
			blockingReason: "none",
			terminalOutcome: "skipped",
			attemptState: "none",
		});
		expect(await scene.get(id)).toMatchObject({ completedAt: scene.now });
		expect(await scene.eventTypes(id)).toEqual(["created", "skipped"]);
		expect((await scene.ff.backend.executions.wait(id)).publicState).toBe("skipped");
	});

	test("skips go on through all that depends on them, and no further", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "c", "d", "other", "tidy"],
			edges: ["a > b", "b > c", "c > d", "other > d", "b > tidy on completion"],
		});
		await flow.fail("a");
		expect(await flow.states()).toEqual({
			a: "failed",
			b: "skipped",
			c: "skipped",
			d: "skipped",
			other: "waiting",
			tidy: "skipped",
		});
	});

	const large: Record<string, DrawnFlow> = {
		"150 in a row": { nodes: ["a", ...numbered(150)], edges: chain(["a", ...numbered(150)]) },
		"150 side by side": { nodes: ["a", ...numbered(150)], edges: numbered(150).map((to) => `a > ${to}`) },
		"100 side by side with one behind them all": {
			nodes: ["a", ...numbered(100), "z"],
			edges: [...numbered(100).map((to) => `a > ${to}`), ...numbered(100).map((from) => `${from} > z`)],
		},
	};
	for (const [what, drawing] of Object.entries(large)) {
		test(`a failure skips ${what}`, async (scene) => {
			const flow = await flowOf(scene, drawing);
			await flow.fail("a");
			const { counts, state } = await flow.look();
			expect(counts).toEqual({ failed: 1, skipped: (drawing.nodes?.length ?? 0) - 1 });
			expect(state).toBe("failed");
		});
	}

	test("a success releases 150 side by side, and their ends release the one behind", async (scene) => {
		const keys = numbered(150);
		const nodes = ["a", ...keys.map((key) => ({ key, kind: "job" })), "z"];
		const edges = [...keys.map((to) => `a > ${to}`), ...keys.map((from) => `${from} > z`)];
		const flow = await flowOf(scene, { nodes, edges });
		await flow.complete("a");
		expect((await flow.look()).counts).toEqual({ completed: 1, waiting: 150, waiting_children: 1 });
		const items = (await scene.claim({ kinds: ["job"], max: 256 })).map(({ id, lease }) => ({
			executionId: id,
			fence: { leaseId: lease.id, epoch: lease.epoch },
		}));
		expect(items).toHaveLength(150);
		await scene.backend.leases.completeMany(items);
		await flow.complete("z");
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 152 } });
	});

	test("an end that comes with others at once is counted once", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > c", "b > c"] });
		const held = [await flow.take("a"), await flow.take("b")];
		await Promise.all(held.map(({ id, fence }) => scene.backend.leases.complete(id, { fence })));
		await Promise.all(held.map(({ id, fence }) => scene.backend.leases.complete(id, { fence })));
		const { nodes } = await flow.look();
		expect(nodes.at(-1)).toMatchObject({ key: "c", publicState: "waiting", group: { edges: 2, satisfied: 2 } });
	});
}
