import { expect } from "vitest";
import { flowOf, growing } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** What a member waits for besides its edges, and edges that come late. */
export function flowOwnWaitCases(test: PublicCase): void {
	test("a member's own delay begins when its edges are satisfied", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", delayMs: 1000 }], edges: ["a > b"] });
		await scene.clock.advance(5000);
		await flow.complete("a");
		expect(await scene.get(flow.idOf("b"))).toMatchObject({
			publicState: "delayed",
			delayUntil: scene.now + 1000,
			state: { blockingReason: "waiting_for_delay" },
		});
		expect(await flow.state()).toBe("blocked");
		await scene.clock.advance(999);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(1);
		await flow.take("b");
	});

	test("a delay until a time holds if that is still to come when the edges are satisfied", async (scene) => {
		const delayUntil = scene.now + 1000;
		const nodes = ["a", { key: "b", delayUntil }, { key: "c", delayUntil }, "slow"];
		const flow = await flowOf(scene, { nodes, edges: ["a > b", "slow > c"] });
		await flow.complete("a");
		expect(await scene.get(flow.idOf("b"))).toMatchObject({ publicState: "delayed", delayUntil });
		await scene.clock.advance(1000);
		expect((await flow.states()).b).toBe("waiting");
		await flow.complete("slow");
		expect((await flow.states()).c).toBe("waiting");
	});

	test("a first member's delay begins with the flow", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", delayMs: 1000 }] });
		expect((await flow.states()).a).toBe("delayed");
		await scene.clock.advance(1000);
		await flow.complete("a");
	});

	test("a budget and a quota still decide once edges are satisfied", async (scene) => {
		const { budgets, quotas } = scene.backend;
		await budgets.create({ id: "team", dimensions: { tokens: { hard: 1 } } });
		await quotas.create({ id: "few", concurrency: 1 });
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", budgets: ["team"] }, { key: "c", quotas: ["few"] }, { key: "d", quotas: ["few"] }],
			edges: ["a > b", "a > c", "a > d"],
		});
		await budgets.usage("team", { dims: { tokens: 1 } });
		await flow.complete("a");
		const c = await flow.take("c");
		expect(await scene.claim({ kinds: ["b", "d"], max: 5 })).toEqual([]);
		expect(await flow.states()).toMatchObject({ b: "rate_limited", c: "active", d: "rate_limited" });
		await budgets.reset("team");
		await scene.backend.leases.complete(c.id, { fence: c.fence });
		await scene.clock.settle();
		await flow.complete("b", "d");
		expect(await flow.state()).toBe("completed");
	});

	test("a paused lane keeps a member whose edges are satisfied", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", lane: "side" }], edges: ["a > b"] });
		await scene.backend.lanes.pause("side");
		await flow.complete("a");
		expect(await scene.claim({ lanes: ["side"] })).toEqual([]);
		expect(await scene.state(flow.idOf("b"))).toMatchObject({ eligibilityState: "blocked_by_lane_state" });
		await scene.backend.lanes.resume("side");
		await flow.take("b", { lanes: ["side"] });
	});

	test("a member needs a capable worker like any work", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", requiredCapabilities: ["gpu"] }], edges: ["a > b"] });
		await flow.complete("a");
		expect(await scene.claim({ kinds: ["b"] })).toEqual([]);
		await flow.take("b", { capabilities: ["gpu"], instanceId: "instance-2" });
	});

	test("time in the queue is counted from when the edges are satisfied", async (scene) => {
		const policy = { timeouts: { queueMs: 1000 } };
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", policy }], edges: ["a > b"] });
		await scene.clock.advance(5000);
		await flow.complete("a");
		await scene.clock.advance(999);
		expect((await flow.states()).b).toBe("waiting");
		await scene.clock.advance(1);
		expect((await flow.states()).b).toBe("expired");
		expect(await flow.state()).toBe("failed");
	});

	test("a deadline runs while a member waits for its edges, and its end resolves what is behind it", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", policy: { timeouts: { deadlineMs: 1000 } } }, "c", "tidy"],
			edges: ["a > b", "b > c", "b > tidy on failure"],
		});
		await scene.clock.advance(1000);
		expect(await flow.states()).toEqual({ a: "waiting", b: "expired", c: "skipped", tidy: "waiting" });
		await flow.complete("a", "tidy");
		expect(await flow.state()).toBe("completed");
	});

	test("a member that waits can be cancelled by itself, and its end is one", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c", "d"], edges: ["a > b", "b > c", "b > d on failure"] });
		expect(await scene.backend.executions.cancel(flow.idOf("b"))).toEqual({ publicState: "cancelled" });
		expect(await flow.states()).toEqual({ a: "waiting", b: "cancelled", c: "skipped", d: "waiting" });
		await flow.complete("a", "d");
		expect(await flow.state()).toBe("completed");
	});

	test("a member that waits takes a new priority and new tags", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", kind: "job" }, { key: "c", kind: "job" }],
			edges: ["a > b", "a > c"],
		});
		await scene.backend.executions.changePriority(flow.idOf("c"), { priority: 9 });
		await scene.backend.executions.setTags(flow.idOf("c"), { set: { x: "1" } });
		expect((await flow.states()).c).toBe("waiting_children");
		await flow.complete("a");
		expect(await scene.take({ kinds: ["job"] })).toMatchObject({ id: flow.idOf("c"), tags: { x: "1" } });
	});

	test("an edge added late makes a member that could run wait", async (scene) => {
		const flow = await growing(scene, ["a", "b"]);
		expect((await flow.states()).b).toBe("waiting");
		await flow.addEdge("a > b");
		expect((await flow.states()).b).toBe("waiting_children");
		expect(await scene.claim({ kinds: ["b"] })).toEqual([]);
		await flow.complete("a", "b");
	});

	test("an edge added after its upstream succeeded is satisfied at once", async (scene) => {
		const flow = await growing(scene, ["a", "b", "c"]);
		await flow.completeWith("a", 7);
		await flow.addEdge("a > b as x");
		expect((await flow.look()).edges).toMatchObject([{ state: "satisfied" }]);
		expect(await flow.take("b")).toMatchObject({ parents: { x: { executionId: flow.idOf("a"), result: 7 } } });
		await flow.addEdge("a > c on failure");
		expect((await flow.states()).c).toBe("waiting_children");
	});

	test("what can no longer be satisfied is skipped with the seal, not before", async (scene) => {
		const flow = await growing(scene, ["a", "b", "c", "d", "e"]);
		await flow.fail("a");
		await flow.addEdge("a > b");
		await flow.addEdge("a > c on failure");
		await flow.addEdge("b > d");
		await flow.addEdge("e > d");
		expect(await flow.states()).toMatchObject({ b: "waiting_children", c: "waiting", d: "waiting_children" });
		await flow.seal();
		expect(await flow.states()).toMatchObject({ b: "skipped", c: "waiting", d: "skipped", e: "waiting" });
	});

	test("before the seal another edge or group may still satisfy what seemed impossible", async (scene) => {
		const flow = await growing(scene, ["a", "b", "c"], ["a > b"]);
		await flow.fail("a");
		await flow.addEdge("c > b");
		const { revision } = await scene.backend.flows.setGroup(flow.id, "b", { policy: "any_of" });
		flow.revision = revision;
		await flow.seal();
		await flow.complete("c", "b");
		expect(await flow.state()).toBe("completed");
	});

	test("a group set late releases what it is enough for, and lets wait what it is not", async (scene) => {
		const { flows } = scene.backend;
		const flow = await growing(scene, ["a", "b", "c"], ["a > c", "b > c"]);
		await flow.complete("a");
		await flows.setGroup(flow.id, "c", { policy: "any_of" });
		expect((await flow.states()).c).toBe("waiting");
		await flows.setGroup(flow.id, "c", { policy: { quorum: 2 } });
		expect((await flow.states()).c).toBe("waiting_children");
		await flow.complete("b", "c");
	});

	test("an edge or a group for what was claimed, or has ended, is refused", async (scene) => {
		const flow = await growing(scene, ["up", "active", "released", "ended"]);
		await flow.take("active");
		const { id, fence } = await flow.take("released");
		await scene.backend.leases.release(id, { fence });
		await scene.backend.executions.cancel(flow.idOf("ended"));
		for (const key of ["active", "released", "ended"]) {
			for (const call of [
				() => flow.addEdge(`up > ${key}`),
				() => scene.backend.flows.setGroup(flow.id, key, { policy: "any_of" }),
			])
				expect(await refusal(call())).toMatchObject({
					code: "node_already_started",
					status: 409,
					details: { node: key, executionId: flow.idOf(key) },
				});
		}
		// What leads away from them is none of that.
		await flow.addMember("down");
		await flow.addEdge("active > down");
	});

	test("an edge for what a worker holds a grant of is refused", async (scene) => {
		const flow = await growing(scene, ["up", "a"]);
		const grant = await scene.backend.leases.grant({
			workerId: "w",
			instanceId: "w-1",
			kinds: ["a"],
			grantTtlMs: 5000,
		});
		expect(grant).toMatchObject({ executionId: flow.idOf("a") });
		expect((await refusal(flow.addEdge("up > a"))).code).toBe("node_already_started");
	});

	test("a budget of the flow binds members that come later, and members reserve of it", async (scene) => {
		const { budgets } = scene.backend;
		await budgets.create({ id: "team", dimensions: { tokens: { hard: 10 } } });
		const flow = await flowOf(scene, { budgets: ["team"], nodes: [], sealed: false });
		await flow.addMember({ key: "a", reserve: { team: { tokens: 10 } } });
		expect((await scene.get(flow.idOf("a"))).budgets).toEqual(["team"]);
		await flow.take("a");
		expect((await budgets.get("team")).dimensions.tokens).toMatchObject({ reserved: 10 });
		await flow.addMember("b");
		expect(await scene.claim()).toEqual([]);
		expect((await flow.states()).b).toBe("rate_limited");
		const whole = await flowOf(scene, { budgets: ["team"], nodes: [{ key: "c", reserve: { team: { tokens: 1 } } }] });
		expect((await whole.states()).c).toBe("waiting");
	});

	test("a member that waits says what for, and since when", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "c", "z"],
			edges: ["a > z", "b > z", "c > z"],
			groups: [{ node: "z", policy: { quorum: 2 } }],
		});
		const since = scene.now;
		await scene.clock.advance(1000);
		await flow.complete("a");
		const { blockingDetail, blockedAt } = await scene.get(flow.idOf("z"));
		expect(blockingDetail).toBe("waiting for 2 of 3 upstreams: 1 satisfied, 2 to come");
		expect(blockedAt).toBe(since);
	});
}
