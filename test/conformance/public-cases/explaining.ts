import { expect } from "vitest";
import { type PublicCase, refusal, unknownId } from "../scene.ts";
import { suspended } from "../suspended-work.ts";

export function explainCases(test: PublicCase): void {
	test("work that waits is told its position on its lane, over all kinds and partitions", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 12; n++) {
			ids.push(await scene.create({ lane: "media", kind: `k${n % 3}` }));
			await scene.clock.advance(1);
		}
		await scene.create({ lane: "other", priority: 9 });
		for (const [n, id] of ids.entries()) {
			expect(await scene.ff.explain(id)).toMatchObject({
				id,
				publicState: "waiting",
				lane: { name: "media", state: "active" },
				position: { ahead: n, exact: true },
				workers: { live: 0, able: 0 },
				examinedAt: scene.now,
			});
		}
		const urgent = await scene.create({ lane: "media", priority: 1 });
		const lack = "no live worker takes kind job on lane media";
		expect((await scene.ff.explain(urgent)).reasons).toEqual([lack, "it is next on lane media"]);
		await scene.backend.workers.register("w", { workerId: "w", capabilities: [], lanes: ["media"] });
		expect((await scene.ff.explain(urgent)).summary).toBe("it is next on lane media");
		expect((await scene.ff.explain(ids[0] as string)).summary).toBe("1 execution is ahead of it on lane media");
	});

	test("which capability nobody offers is told live, whether or not anybody has claimed", async (scene) => {
		const id = await scene.create({ requiredCapabilities: ["gpu", "eu"] });
		await scene.backend.workers.register("w", { workerId: "w", capabilities: ["eu"], lanes: ["default"] });
		expect(await scene.ff.explain(id)).toMatchObject({
			summary: "no live worker offers gpu",
			missingCapabilities: ["gpu"],
			workers: { live: 1, able: 0 },
			state: { eligibilityState: "eligible_now" },
		});
		await scene.claim();
		expect(await scene.ff.explain(id)).toMatchObject({
			summary: "no live worker offers gpu",
			state: { eligibilityState: "blocked_by_route" },
		});
		await scene.backend.workers.register("g", { workerId: "w", capabilities: ["eu", "gpu"], lanes: ["default"] });
		const told = await scene.ff.explain(id);
		expect(told).toMatchObject({ workers: { live: 2, able: 1 }, position: { ahead: 0 } });
		expect(told).not.toHaveProperty("missingCapabilities");
	});

	test("a kind or lane that no live worker takes is named", async (scene) => {
		const id = await scene.create({ kind: "rare" });
		await scene.backend.workers.register("w", {
			workerId: "w",
			capabilities: [],
			kinds: ["common"],
			lanes: ["default"],
		});
		expect(await scene.ff.explain(id)).toMatchObject({ summary: "no live worker takes kind rare on lane default" });
	});

	test("a read of work that nobody takes says so, as explain does", async (scene) => {
		const id = await scene.create({ kind: "rare" });
		const gpu = await scene.create({ kind: "rare", requiredCapabilities: ["gpu"] });
		const register = (instanceId: string, request: object) =>
			scene.backend.workers.register(instanceId, { workerId: "w", capabilities: [], lanes: ["default"], ...request });
		const told = async (wanted: string) => {
			expect((await scene.get(wanted)).blockingDetail).toBe((await scene.ff.explain(wanted)).summary);
			const { executions } = await scene.ff.list();
			expect(executions.find((each) => each.id === wanted)).toEqual(await scene.get(wanted));
			return (await scene.backend.executions.wait(wanted, { timeoutMs: 0 })).blockingDetail;
		};
		const nobody = "no live worker takes kind rare on lane default";
		expect(await told(id)).toBe(nobody);
		await register("1", { kinds: ["common"] });
		await register("2", { lanes: ["other"] });
		await register("3", { namespace: "n" });
		await register("4", { kinds: ["common"], capabilities: ["gpu"], lanes: ["other"] });
		expect(await told(id)).toBe(nobody);
		expect(await told(gpu)).toBe(nobody);
		await scene.backend.workers.remove("4");
		expect(await told(gpu)).toBe("no live worker offers gpu");
		await register("5", { kinds: ["common", "rare"], ttlMs: 1000 });
		expect((await scene.get(id)).blockingDetail).toBe("waiting for a worker on lane default");
		expect(await told(gpu)).toBe("no live worker offers gpu");
		await scene.clock.advance(1000);
		expect(await told(id)).toBe(nobody);
		await scene.backend.lanes.pause("default");
		expect(await told(id)).toBe("lane default is paused");
	});

	test("a read looks past many workers for one who takes the work", async (scene) => {
		const id = await scene.create({ kind: "rare" });
		const register = (n: number, kinds: string[]) =>
			scene.backend.workers.register(`w-${n}`, { workerId: "w", capabilities: [], lanes: ["default"], kinds });
		for (let n = 0; n < 130; n++) await register(n, ["common"]);
		expect((await scene.get(id)).blockingDetail).toBe("no live worker takes kind rare on lane default");
		await register(130, ["rare"]);
		expect((await scene.get(id)).blockingDetail).toBe("waiting for a worker on lane default");
	});

	test("a paused lane is named first", async (scene) => {
		const id = await scene.create({ lane: "media" });
		await scene.backend.lanes.pause("media");
		expect(await scene.ff.explain(id)).toMatchObject({
			summary: "lane media is paused",
			lane: { name: "media", state: "paused" },
			state: { eligibilityState: "blocked_by_lane_state", blockingReason: "paused_by_policy" },
		});
	});

	test("what waits for a time says until when, and what for", async (scene) => {
		const id = await scene.create({ delayMs: 5000 });
		const told = await scene.ff.explain(id);
		expect(told.summary).toBe(`delayed until ${new Date(scene.now + 5000).toISOString()}`);
		expect(told).not.toHaveProperty("position");
	});

	test("who holds it is named: a lease, or a grant", async (scene) => {
		const held = await scene.start({}, { instanceId: "holder", leaseMs: 5000 });
		expect((await scene.ff.explain(held.id)).summary).toBe(
			`it is running on holder, under a lease until ${new Date(scene.now + 5000).toISOString()}`,
		);
		const id = await scene.create();
		await scene.backend.leases.grant({ workerId: "w", instanceId: "lucky", grantTtlMs: 1000 });
		expect((await scene.ff.explain(id)).summary).toMatch(/^granted to lucky until /);
	});

	test("what suspended work waits for is told, and what of it has come", async (scene) => {
		const condition = { allOf: [{ signal: "a" }, { count: { n: 2, distinctBy: "source", match: "b" } }] } as const;
		const work = await suspended(scene, {
			reason: "waiting_for_approval",
			condition: { allOf: [...condition.allOf] },
			timeoutMs: 5000,
			timeoutBehavior: "escalate",
		});
		await work.send("a");
		await work.send("b", { source: { type: "person", identity: "ann" } });
		const until = scene.now + 5000;
		expect(await scene.backend.executions.explain(work.id)).toMatchObject({
			reasons: [
				`waiting for approval until ${new Date(until).toISOString()}`,
				"it waits for 2 signals b from different sources, of which 1 came",
			],
			suspension: {
				id: work.reply.suspensionId,
				reason: "waiting_for_approval",
				condition,
				waitpoints: [{ id: work.at().id, key: "w" }],
				signals: 2,
				since: scene.now,
				timeoutAt: until,
				timeoutBehavior: "escalate",
			},
		});
		await scene.clock.advance(5000);
		expect((await scene.backend.executions.explain(work.id)).suspension).toMatchObject({ escalated: true });
		await scene.backend.waitpoints.resume(work.id);
		expect(await scene.backend.executions.explain(work.id)).not.toHaveProperty("suspension");
	});

	test("who spent the budget that paused it is told", async (scene) => {
		await scene.backend.budgets.create({ id: "b", dimensions: { tokens: { hard: 10 } }, onHard: "suspend" });
		const { id, fence } = await scene.start({ budgets: ["b"] });
		const spender = await scene.create();
		await scene.backend.budgets.usage("b", { dims: { tokens: 9 }, executionId: spender });
		await scene.backend.leases.usage(id, { fence, budget: "b", dims: { tokens: 5 } });
		await scene.clock.advance(20);
		expect((await scene.backend.executions.explain(id)).reasons).toEqual([
			"budget b: tokens 9/10, report of 5 refused",
			"it waits for one of (signal approve at budget:b; signal reject at budget:b)",
			expect.stringContaining(`; by ${spender}`),
		]);
	});

	test("how it ended is told", async (scene) => {
		const { id } = await scene.finished();
		expect((await scene.ff.explain(id)).summary).toBe(`it completed at ${new Date(scene.now).toISOString()}`);
		const other = await scene.start();
		await scene.backend.leases.fail(other.id, { fence: other.fence, reason: "broken" });
		expect((await scene.ff.explain(other.id)).summary).toMatch(/^it failed at .*: broken$/);
	});

	test("work under a fairness key is told what of its key comes before it", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 20; n++) {
			ids.push(await scene.create({ fairnessKey: "big" }));
			await scene.clock.advance(1);
		}
		const told = await Promise.all(ids.map((id) => scene.ff.explain(id)));
		expect(told.map(({ position }) => position)).toEqual(
			ids.map((_, n) => ({ ahead: n, exact: true, ...(n > 0 ? { aheadInKey: n } : undefined) })),
		);
	});

	test("what does not exist, or is another's, is not explained", async (scene) => {
		expect(await refusal(scene.ff.explain(unknownId))).toMatchObject({ code: "execution_not_found" });
		expect(await refusal(scene.ff.explain("nonsense"))).toMatchObject({ code: "invalid_input" });
		const id = await scene.create({ namespace: "a" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		expect(await refusal(bob.executions.explain(id))).toMatchObject({ code: "execution_not_found" });
	});

	test("other tenants' work and workers are not counted", async (scene) => {
		await scene.create({ namespace: "b", priority: 9 });
		await scene.backend.workers.register("w", { workerId: "w", namespace: "b", capabilities: [], lanes: ["default"] });
		const id = await scene.create({ namespace: "a" });
		expect(await scene.ff.explain(id)).toMatchObject({ position: { ahead: 0 }, workers: { live: 0 } });
	});
}
