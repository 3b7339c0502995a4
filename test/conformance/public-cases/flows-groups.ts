import { expect } from "vitest";
import type { WorkerNotice } from "../../../src/index.ts";
import { type DrawnFlow, flowOf, numbered } from "../flow-work.ts";
import type { PublicCase } from "../scene.ts";

type Policy = NonNullable<DrawnFlow["groups"]>[number]["policy"];
type OnSatisfied = NonNullable<DrawnFlow["groups"]>[number]["onSatisfied"];

/** Three that lead to z, by a group. */
const three = (policy: Policy, onSatisfied?: OnSatisfied, more: DrawnFlow = {}): DrawnFlow => ({
	nodes: ["a", "b", "c", "z", ...(more.nodes ?? [])],
	edges: ["a > z", "b > z", "c > z", ...(more.edges ?? [])],
	groups: [{ node: "z", policy, ...(onSatisfied === undefined ? undefined : { onSatisfied }) }],
});

/** How many upstreams a member waits for, and what becomes of the rest. */
export function flowGroupCases(test: PublicCase): void {
	test("all_of, which is the default, waits for every upstream", async (scene) => {
		for (const drawing of [three("all_of"), { ...three("all_of"), groups: [] }]) {
			const flow = await flowOf(scene, drawing);
			await flow.complete("a", "b");
			expect((await flow.states()).z).toBe("waiting_children");
			await flow.complete("c", "z");
			expect(await flow.state()).toBe("completed");
		}
	});

	test("all_of is impossible with the first that fails", async (scene) => {
		const flow = await flowOf(scene, three("all_of"));
		await flow.fail("b");
		expect((await flow.states()).z).toBe("skipped");
	});

	test("any_of runs with the first, and once", async (scene) => {
		const flow = await flowOf(scene, three("any_of"));
		await flow.complete("b", "z", "a", "c");
		expect(await scene.claim()).toEqual([]);
		const { nodes, state } = await flow.look();
		expect(state).toBe("completed");
		expect(nodes.at(-1)?.group).toEqual({
			policy: "any_of",
			onSatisfied: "let_run",
			edges: 3,
			satisfied: 3,
			impossible: 0,
		});
		expect(await scene.backend.executions.attempts(flow.idOf("z"))).toHaveLength(1);
	});

	test("any_of is impossible when the last has failed", async (scene) => {
		const flow = await flowOf(scene, three("any_of"));
		await flow.fail("a", "b");
		expect((await flow.states()).z).toBe("waiting_children");
		await flow.fail("c");
		expect((await flow.states()).z).toBe("skipped");
	});

	test("a quorum runs with as many as it says", async (scene) => {
		const flow = await flowOf(scene, three({ quorum: 2 }));
		await flow.complete("a");
		expect((await flow.states()).z).toBe("waiting_children");
		await flow.complete("c", "z");
		expect((await flow.look()).nodes.at(-1)?.group).toMatchObject({ policy: { quorum: 2 }, satisfied: 2 });
	});

	test("a quorum is impossible as soon as too few are left", async (scene) => {
		const flow = await flowOf(scene, three({ quorum: 2 }));
		await flow.fail("a");
		expect((await flow.states()).z).toBe("waiting_children");
		await flow.fail("b");
		expect(await flow.states()).toEqual({ a: "failed", b: "failed", c: "waiting", z: "skipped" });
	});

	test("what a satisfied group did not need goes on by default, and its failure does not matter to it", async (scene) => {
		const flow = await flowOf(scene, three("any_of"));
		await flow.complete("a");
		const b = await flow.take("b");
		await flow.complete("z");
		expect(await flow.states()).toMatchObject({ b: "active", c: "waiting", z: "completed" });
		await scene.backend.leases.fail(b.id, { fence: b.fence, reason: "broken" });
		await flow.complete("c");
		expect(await flow.state()).toBe("completed");
	});

	test("cancel_remaining cancels what waits, and asks what runs to stop", async (scene) => {
		const heard: WorkerNotice[] = [];
		const stop = scene.backend.leases.notices("instance-1", (notice) => heard.push(notice));
		await scene.clock.settle();
		const flow = await flowOf(scene, three("any_of", "cancel_remaining"));
		const b = await flow.take("b");
		await flow.complete("a");
		expect(await flow.states()).toEqual({ a: "completed", b: "active", c: "cancelled", z: "waiting" });
		const asked = { source: "flow", reason: "z needs no more of its upstreams" };
		expect((await scene.get(flow.idOf("c"))).cancel).toMatchObject(asked);
		expect((await scene.get(b.id)).cancel).toMatchObject({ ...asked, deadlineAt: scene.now + 30_000 });
		expect(heard).toMatchObject([{ type: "cancel_requested", executionId: b.id }]);
		await scene.backend.leases.release(b.id, { fence: b.fence });
		expect((await flow.states()).b).toBe("cancelled");
		await flow.complete("z");
		expect(await flow.state()).toBe("completed");
		stop();
	});

	test("one that was asked to stop and succeeds all the same has succeeded", async (scene) => {
		const flow = await flowOf(scene, three("any_of", "cancel_remaining"));
		const b = await flow.take("b");
		await flow.complete("a");
		await scene.clock.settle();
		await scene.backend.leases.complete(b.id, { fence: b.fence });
		await flow.complete("z");
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 3, cancelled: 1 } });
	});

	test("one that does not stop in time is cancelled after 30 seconds", async (scene) => {
		const flow = await flowOf(scene, three({ quorum: 1 }, "cancel_remaining"));
		await flow.take("b");
		await flow.complete("a", "z");
		await scene.clock.advance(29_999);
		expect(await flow.state()).toBe("running");
		await scene.clock.advance(1);
		expect(await flow.look()).toMatchObject({ state: "completed", counts: { completed: 2, cancelled: 2 } });
	});

	test("what cancel_remaining cancelled satisfies no edge, and fails no flow", async (scene) => {
		const more = {
			nodes: ["onFailure", "onCompletion"],
			edges: ["c > onFailure on failure", "c > onCompletion on completion"],
		};
		const flow = await flowOf(scene, three("any_of", "cancel_remaining", more));
		await flow.complete("a");
		expect(await flow.states()).toMatchObject({ c: "cancelled", onFailure: "skipped", onCompletion: "skipped" });
		await flow.complete("z");
		expect(await flow.state()).toBe("completed");
	});

	test("cancel_remaining reaches upstreams that are delayed, suspended or wait for others", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", { key: "late", delayMs: 60_000 }, "asleep", "first", "second", "z"],
			edges: ["first > second", "a > z", "late > z", "asleep > z", "second > z"],
			groups: [{ node: "z", policy: "any_of", onSatisfied: "cancel_remaining" }],
		});
		const { id, fence } = await flow.take("asleep");
		await scene.backend.leases.suspend(id, { fence, reason: "manual_pause", condition: { operatorOnly: true } });
		await flow.complete("a");
		expect(await flow.states()).toEqual({
			a: "completed",
			late: "cancelled",
			asleep: "cancelled",
			first: "waiting",
			second: "cancelled",
			z: "waiting",
		});
	});

	test("one of 150 is enough, and the rest is cancelled", async (scene) => {
		const keys = numbered(150);
		const flow = await flowOf(scene, {
			nodes: [...keys, "z"],
			edges: keys.map((from) => `${from} > z`),
			groups: [{ node: "z", policy: { quorum: 1 }, onSatisfied: "cancel_remaining" }],
		});
		await flow.complete("n77");
		expect((await flow.look()).counts).toEqual({ completed: 1, cancelled: 149, waiting: 1 });
		await flow.complete("z");
		expect(await flow.state()).toBe("completed");
	});

	test("a group that is satisfied late, by its policy, lets the rest go, too", async (scene) => {
		const flow = await flowOf(scene, { ...three("all_of"), sealed: false });
		await flow.complete("a");
		await scene.backend.flows.setGroup(flow.id, "z", { policy: "any_of", onSatisfied: "cancel_remaining" });
		expect(await flow.states()).toEqual({ a: "completed", b: "cancelled", c: "cancelled", z: "waiting" });
	});

	test("edges of different kinds count together", async (scene) => {
		const flow = await flowOf(scene, {
			nodes: ["a", "b", "z"],
			edges: ["a > z", "b > z on failure"],
			groups: [{ node: "z", policy: { quorum: 2 } }],
		});
		await flow.complete("a");
		await flow.fail("b");
		await flow.complete("z");
		expect(await flow.state()).toBe("completed");
	});
}
