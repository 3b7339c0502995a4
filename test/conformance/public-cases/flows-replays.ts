import { expect } from "vitest";
import { chain, flowOf, growing, numbered } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** Replaying members. */
export function flowReplayCases(test: PublicCase): void {
	test("a replay opens what was skipped because of it again, and what had succeeded stays", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c", "x"], edges: ["a > b", "b > c", "x > c"] });
		await flow.complete("x");
		await flow.fail("a");
		expect(await flow.look()).toMatchObject({ state: "failed", counts: { failed: 1, skipped: 2, completed: 1 } });
		expect(await scene.backend.executions.replay(flow.idOf("a"))).toMatchObject({ publicState: "waiting" });
		const view = await flow.look();
		expect(view).toMatchObject({ state: "open", counts: { waiting: 1, waiting_children: 2, completed: 1 } });
		expect(view).not.toHaveProperty("endedAt");
		expect(view.edges.map(({ from, to, state }) => [from, to, state])).toEqual(
			expect.arrayContaining([
				["a", "b", "pending"],
				["b", "c", "pending"],
				["x", "c", "satisfied"],
			]),
		);
		expect(view.nodes.find(({ key }) => key === "c")?.group).toMatchObject({ edges: 2, satisfied: 1, impossible: 0 });
		await flow.complete("a", "b", "c");
		expect(await flow.state()).toBe("completed");
	});

	test("what is opened again waits like at first, and has used up no replay", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", policy: { maxReplays: 0 } }], edges: ["a > b"] });
		await flow.fail("a");
		await scene.backend.executions.replay(flow.idOf("a"));
		const id = flow.idOf("b");
		expect(await scene.state(id)).toEqual({
			publicState: "waiting_children",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "blocked_by_dependencies",
			blockingReason: "waiting_for_children",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		const read = await scene.get(id);
		expect(read).toMatchObject({ replays: 0 });
		expect(read).not.toHaveProperty("completedAt");
		await flow.complete("a", "b");
		expect(await scene.get(id)).toMatchObject({ replays: 0, attempt: { index: 0, type: "initial" } });
	});

	test("a replay opens an ended flow again, and tells so", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		await flow.fail("a");
		await scene.backend.executions.replay(flow.idOf("a"));
		const types = (await flow.events()).filter(({ executionId }) => executionId === undefined).map(({ type }) => type);
		expect(types.slice(-2)).toEqual(["flow_ended", "flow_reopened"]);
		await scene.clock.advance(1000);
		await flow.complete("a", "b");
		expect(await flow.look()).toMatchObject({ state: "completed", endedAt: scene.now });
	});

	test("a replay that fails again skips again", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > b", "b > c"] });
		for (let n = 0; n < 3; n++) {
			await flow.fail("a");
			expect(await flow.look()).toMatchObject({ state: "failed", counts: { failed: 1, skipped: 2 } });
			await scene.backend.executions.replay(flow.idOf("a"));
		}
		await flow.complete("a", "b", "c");
		expect(await flow.state()).toBe("completed");
	});

	test("a downstream that has run already stays as it is", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b as x"] });
		await flow.completeWith("a", 1);
		await flow.complete("b");
		await scene.backend.executions.replay(flow.idOf("a"));
		expect(await flow.look()).toMatchObject({ state: "open", counts: { waiting: 1, completed: 1 } });
		await flow.fail("a");
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { failed: 1, completed: 1 } });
		expect(await scene.backend.executions.attempts(flow.idOf("b"))).toHaveLength(1);
	});

	test("a satisfied group stays satisfied, though what satisfied it is replayed", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		await flow.complete("a");
		await scene.backend.executions.replay(flow.idOf("a"));
		expect(await flow.states()).toEqual({ a: "waiting", b: "waiting" });
		await flow.complete("b");
		await flow.fail("a");
		expect((await flow.look()).edges).toMatchObject([{ state: "satisfied" }]);
		expect((await flow.states()).b).toBe("completed");
	});

	test("who waited for a failure has run for it, and does not run again after a replay", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "tidy", "next"], edges: ["a > tidy on failure", "a > next"] });
		await flow.fail("a");
		await flow.complete("tidy");
		await scene.backend.executions.replay(flow.idOf("a"));
		expect(await flow.states()).toEqual({ a: "waiting", tidy: "completed", next: "waiting_children" });
		await flow.complete("a", "next");
		expect(await flow.state()).toBe("completed");
	});

	test("what another upstream makes impossible stays skipped", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "z"], edges: ["a > z", "b > z"] });
		await flow.fail("a", "b");
		await scene.backend.executions.replay(flow.idOf("a"));
		expect(await flow.states()).toEqual({ a: "waiting", b: "failed", z: "skipped" });
		await scene.backend.executions.replay(flow.idOf("b"));
		expect(await flow.states()).toEqual({ a: "waiting", b: "waiting", z: "waiting_children" });
		await flow.complete("a", "b", "z");
		expect(await flow.state()).toBe("completed");
	});

	test("a skipped member is not replayed by itself while it cannot run", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b"], edges: ["a > b"] });
		await flow.fail("a");
		expect(await refusal(scene.backend.executions.replay(flow.idOf("b")))).toMatchObject({
			code: "member_skipped",
			status: 409,
			details: { node: "b" },
		});
	});

	test("a cancelled and an expired member are replayed like a failed one", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "b", policy: { timeouts: { queueMs: 1000 } } }, "c", "d"],
			edges: ["a > c", "b > d"],
		});
		await scene.backend.executions.cancel(flow.idOf("a"));
		await scene.clock.advance(1000);
		expect((await flow.look()).counts).toEqual({ cancelled: 1, expired: 1, skipped: 2 });
		for (const key of ["a", "b"]) await scene.backend.executions.replay(flow.idOf(key));
		await flow.complete("a", "b", "c", "d");
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 4 } });
	});

	const large = {
		"150 in a row": chain(["a", ...numbered(150)]),
		"150 side by side": numbered(150).map((to) => `a > ${to}`),
	};
	for (const [what, edges] of Object.entries(large)) {
		test(`a replay opens ${what} again, though it comes while they are still being skipped`, async (scene) => {
			const flow = await flowOf(scene, { nodes: ["a", ...numbered(150)], edges });
			await flow.fail("a");
			await scene.backend.executions.replay(flow.idOf("a"));
			expect(await flow.look()).toMatchObject({ state: "open", counts: { waiting: 1, waiting_children: 150 } });
			await flow.fail("a");
			expect(await flow.look()).toMatchObject({ state: "failed", counts: { failed: 1, skipped: 150 } });
		});
	}

	test("replays have their limit in a flow, too, and a refused one changes nothing", async (scene) => {
		const flow = await flowOf(scene, { nodes: [{ key: "a", policy: { maxReplays: 1 } }, "b"], edges: ["a > b"] });
		await flow.fail("a");
		await scene.backend.executions.replay(flow.idOf("a"));
		await flow.fail("a");
		const before = await flow.look();
		expect((await refusal(scene.backend.executions.replay(flow.idOf("a")))).code).toBe("max_replays_exhausted");
		expect(await flow.look()).toEqual(before);
	});

	test("a replay before the seal lets the member run, and the flow stays open", async (scene) => {
		const flow = await growing(scene, ["a", "b"], ["a > b"]);
		await flow.fail("a");
		await scene.backend.executions.replay(flow.idOf("a"));
		await flow.complete("a", "b");
		expect(await flow.state()).toBe("open");
		await flow.seal();
		expect(await flow.state()).toBe("completed");
	});

	test("what cancel_remaining cancelled can be replayed, and its flow waits for it", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "z"],
			edges: ["a > z", "b > z"],
			groups: [{ node: "z", policy: "any_of", onSatisfied: "cancel_remaining" }],
		});
		await flow.complete("a");
		await scene.clock.settle();
		await flow.complete("z");
		expect(await flow.state()).toBe("completed");
		await scene.backend.executions.replay(flow.idOf("b"));
		expect(await flow.state()).toBe("open");
		await flow.complete("b");
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 3 } });
	});
}
