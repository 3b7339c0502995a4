import { expect } from "vitest";
import { type DrawnFlow, flowOf, growing } from "../flow-work.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** The state of a flow and the counts of its members, at every step and at its end. */
export function flowStateCases(test: PublicCase): void {
	test("state and counts follow every step of the members", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c"], edges: ["a > b", "b > c"] });
		const shows = async (state: string, counts: object) => expect(await flow.look()).toMatchObject({ state, counts });
		await shows("open", { waiting: 1, waiting_children: 2 });
		const a = await flow.take("a");
		await shows("running", { active: 1, waiting_children: 2 });
		await scene.backend.leases.delay(a.id, { fence: a.fence, delayMs: 1000 });
		await shows("blocked", { delayed: 1, waiting_children: 2 });
		await scene.clock.advance(1000);
		await shows("open", { waiting: 1, waiting_children: 2 });
		const again = await flow.take("a");
		await scene.backend.leases.suspend(a.id, {
			fence: again.fence,
			reason: "waiting_for_approval",
			condition: { operatorOnly: true },
		});
		await shows("blocked", { suspended: 1, waiting_children: 2 });
		await scene.backend.waitpoints.resume(a.id);
		await flow.complete("a");
		await shows("open", { completed: 1, waiting: 1, waiting_children: 1 });
		await flow.complete("b");
		await flow.fail("c");
		await shows("failed", { completed: 2, failed: 1 });
	});

	test("counts are also those of the list, and of single reads", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", "b", "c", "d"], edges: ["a > b", "b > c"] });
		await flow.fail("a");
		await flow.take("d");
		await scene.clock.settle();
		const counts = { failed: 1, skipped: 2, active: 1 };
		expect((await scene.backend.flows.list()).flows).toMatchObject([{ id: flow.id, counts, state: "running" }]);
		for (const state of ["failed", "skipped", "active"] as const) {
			const listed = await scene.backend.executions.list({ flowId: flow.id, state });
			expect(listed.executions).toHaveLength(counts[state]);
		}
	});

	test("a flow that is behind a quota is blocked", async (scene) => {
		await scene.backend.quotas.create({ id: "one", concurrency: 1 });
		await scene.start({ kind: "other", quotas: ["one"] });
		const flow = await flowOf(scene, { nodes: [{ key: "a", quotas: ["one"] }] });
		expect(await scene.claim()).toEqual([]);
		expect(await flow.look()).toMatchObject({ state: "blocked", counts: { rate_limited: 1 } });
	});

	const finals: Record<string, [drawing: DrawnFlow, failing: string[], completing: string[], state: string]> = {
		"all of which succeed is completed": [{ nodes: ["a", "b"], edges: ["a > b"] }, [], ["a", "b"], "completed"],
		"one of which fails is failed": [{ nodes: ["a", "b"] }, ["a"], ["b"], "failed"],
		"one of which fails what needed it is failed": [{ nodes: ["a", "b"], edges: ["a > b"] }, ["a"], [], "failed"],
		"whose failure somebody waited for is completed": [
			{ nodes: ["a", "b"], edges: ["a > b on failure"] },
			["a"],
			["b"],
			"completed",
		],
		"whose end in any way somebody waited for is completed": [
			{ nodes: ["a", "b"], edges: ["a > b on completion"] },
			["a"],
			["b"],
			"completed",
		],
		"whose failure satisfied one and made another impossible is completed": [
			{ nodes: ["a", "tidy", "next"], edges: ["a > tidy on failure", "a > next"] },
			["a"],
			["tidy"],
			"completed",
		],
		"in which the one that tidies up fails, too, is failed": [
			{ nodes: ["a", "tidy"], edges: ["a > tidy on failure"] },
			["a", "tidy"],
			[],
			"failed",
		],
		"with a failure that its group did without is completed": [
			{ nodes: ["a", "b", "z"], edges: ["a > z", "b > z"], groups: [{ node: "z", policy: "any_of" }] },
			["a"],
			["b", "z"],
			"completed",
		],
		"with a failure that one of two groups could not do without is failed": [
			{
				nodes: ["a", "b", "z", "y"],
				edges: ["a > z", "b > z", "a > y"],
				groups: [{ node: "z", policy: "any_of" }],
			},
			["a"],
			["b", "z"],
			"failed",
		],
		"in which some are skipped since nothing failed is completed": [
			{ nodes: ["a", "tidy", "report"], edges: ["a > tidy on failure", "tidy > report on completion"] },
			[],
			["a"],
			"completed",
		],
	};
	for (const [what, [drawing, failing, completing, state]] of Object.entries(finals)) {
		test(`a flow ${what}`, async (scene) => {
			const flow = await flowOf(scene, drawing);
			await flow.fail(...failing);
			await flow.complete(...completing);
			expect(await flow.look()).toMatchObject({ state, endedAt: scene.now });
			expect((await flow.events()).at(-1)).toMatchObject({ type: "flow_ended", state, flowId: flow.id });
		});
	}

	test("a member that was cancelled or expired fails its flow like one that failed", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a", { key: "b", policy: { timeouts: { queueMs: 10 } } }] });
		await scene.backend.executions.cancel(flow.idOf("a"));
		expect(await flow.state()).toBe("open");
		await scene.clock.advance(10);
		expect(await flow.state()).toBe("failed");
		const other = await flowOf(scene, { nodes: ["a", "b"] });
		await scene.backend.executions.cancel(other.idOf("a"));
		await other.complete("b");
		expect(await other.state()).toBe("failed");
	});

	test("more bad ends than are looked at in a step decide like few", async (scene) => {
		const keys = Array.from({ length: 150 }, (_, n) => `n${n}`);
		const race = (nodes: string[], edges: string[]) =>
			flowOf(scene, {
				nodes: [...keys, "z", ...nodes],
				edges: [...keys.map((key) => `${key} > z on failure`), ...edges],
			});
		for (const [extra, state] of [
			[[], "completed"],
			[["alone"], "failed"],
		] as const) {
			const flow = await race([...extra], []);
			for (const key of [...keys, ...extra]) await scene.backend.executions.cancel(flow.idOf(key));
			await flow.complete("z");
			expect(await flow.state()).toBe(state);
		}
	});

	test("waiting for a flow ends with it", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		const waiting = scene.backend.flows.wait(flow.id);
		await scene.clock.settle();
		await flow.complete("a");
		expect(await waiting).toMatchObject({ id: flow.id, state: "completed", counts: { completed: 1 } });
		expect(await scene.backend.flows.wait(flow.id, { timeoutMs: 0 })).toMatchObject({ state: "completed" });
	});

	test("waiting for a flow ends with the time it was given", async (scene) => {
		const flow = await flowOf(scene, { nodes: ["a"] });
		const waiting = scene.backend.flows.wait(flow.id, { timeoutMs: 1000 });
		await scene.clock.advance(1000);
		const found = await waiting;
		expect(found).toMatchObject({ state: "open", counts: { waiting: 1 } });
		expect(found).not.toHaveProperty("endedAt");
	});

	test("waiting for a flow that is deleted meanwhile ends with that", async (scene) => {
		const flow = await growing(scene, ["a"]);
		const waiting = refusal(scene.backend.flows.wait(flow.id));
		await scene.clock.settle();
		await scene.backend.flows.delete(flow.id);
		await scene.clock.settle();
		expect((await waiting).code).toBe("flow_not_found");
	});

	test("whenever it is read, every member is counted once", async (scene) => {
		const keys = Array.from({ length: 150 }, (_, n) => `n${n}`);
		let isOver = false;
		const making = flowOf(scene, {
			nodes: [...keys.map((key) => ({ key, kind: "job" })), "z"],
			edges: keys.map((key) => `${key} > z`),
		});
		const running = making.then(async (flow) => {
			for (let claimed = await scene.claim({ max: 20 }); claimed.length > 0; claimed = await scene.claim({ max: 20 }))
				for (const { id, lease } of claimed)
					await scene.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
			isOver = true;
			return flow;
		});
		while (!isOver) {
			for (const { counts, nodeCount } of (await scene.backend.flows.list()).flows)
				expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(nodeCount);
			await new Promise((resolve) => setImmediate(resolve));
		}
		expect(await (await running).look()).toMatchObject({ state: "completed", counts: { completed: 151 } });
	});
}
