import { expect } from "vitest";
import type { PublicCase, Scene } from "../scene.ts";

const gpu = { requiredCapabilities: ["gpu"] };

const register = (scene: Scene, instanceId: string, capabilities: string[], more: object = {}) =>
	scene.backend.workers.register(instanceId, { workerId: "w", capabilities, lanes: ["default"], ...more });

const blocked = {
	publicState: "waiting",
	state: {
		lifecyclePhase: "runnable",
		ownershipState: "unowned",
		eligibilityState: "blocked_by_route",
		blockingReason: "waiting_for_capable_worker",
	},
};

const eligible = { state: { eligibilityState: "eligible_now", blockingReason: "waiting_for_worker" } };

export function routeCases(test: PublicCase): void {
	test("work nobody there can serve is shown as such once a worker has passed it", async (scene) => {
		const id = await scene.create(gpu);
		expect(await scene.get(id)).toMatchObject(eligible);
		expect(await scene.claim()).toEqual([]);
		expect(await scene.get(id)).toMatchObject({
			...blocked,
			blockingDetail: "no live worker offers gpu",
			blockedAt: scene.now,
		});
		expect(await scene.eventTypes(id)).toEqual(["created", "blocked"]);
	});

	test("the detail names what nobody offers, and what nobody offers together", async (scene) => {
		await register(scene, "a", ["gpu"]);
		await register(scene, "b", ["eu"]);
		const one = await scene.create({ requiredCapabilities: ["gpu", "tpu", "quantum"] });
		const two = await scene.create({ requiredCapabilities: ["gpu", "eu"] });
		await scene.claim();
		expect((await scene.get(one)).blockingDetail).toBe("no live worker offers quantum, tpu");
		expect((await scene.get(two)).blockingDetail).toBe("no live worker offers eu, gpu together");
	});

	test("who comes while much is being moved aside finds all of it", async (scene) => {
		const items = Array.from({ length: 450 }, () => ({ kind: "job", ...gpu }));
		await scene.backend.executions.createMany(items);
		expect(await scene.claim()).toEqual([]);
		await register(scene, "able", ["gpu"]);
		let taken = 0;
		for (let tries = 0; tries < 40 && taken < items.length; tries++) {
			await scene.clock.advance(10);
			taken += (await scene.claim({ instanceId: "able", capabilities: ["gpu"], max: 256 })).length;
		}
		expect(taken).toBe(items.length);
	});

	test("one who cannot serve it skips work that another live worker can", async (scene) => {
		await register(scene, "able", ["gpu"]);
		const id = await scene.create(gpu);
		for (let n = 0; n < 5; n++) expect(await scene.claim()).toEqual([]);
		expect(await scene.get(id)).toMatchObject(eligible);
		expect(await scene.eventTypes(id)).toEqual(["created"]);
		expect((await scene.take({ instanceId: "able", capabilities: ["gpu"] })).id).toBe(id);
	});

	test("a capable worker's arrival releases what waited for it, at once", async (scene) => {
		const ids: string[] = [];
		for (let n = 0; n < 12; n++) ids.push(await scene.create(gpu));
		const other = await scene.create({ requiredCapabilities: ["tpu"] });
		await scene.claim();
		expect(await scene.get(ids[0] as string)).toMatchObject(blocked);
		await register(scene, "able", ["gpu", "eu"]);
		for (const id of ids) {
			expect(await scene.get(id)).toMatchObject({
				...eligible,
				blockingDetail: "waiting for a worker on lane default",
			});
			expect(await scene.eventTypes(id)).toEqual(["created", "blocked", "unblocked"]);
		}
		expect(await scene.get(other)).toMatchObject(blocked);
		expect((await scene.get(ids[0] as string)).blockedAt).toBeUndefined();
	});

	test("a claim by a capable worker nobody knew of gets what was blocked", async (scene) => {
		const id = await scene.create(gpu);
		await scene.claim();
		expect(await scene.get(id)).toMatchObject(blocked);
		expect((await scene.take({ instanceId: "new", capabilities: ["gpu"] })).id).toBe(id);
	});

	test("a waiting claim of an incapable worker is not disturbed, that of a capable one is served", async (scene) => {
		const waiting = scene.claim({ waitMs: 20_000 });
		await scene.clock.settle();
		const id = await scene.create(gpu);
		await scene.clock.advance(100);
		const able = scene.claim({ instanceId: "able", capabilities: ["gpu"], waitMs: 1000 });
		expect((await able).map((each) => each.id)).toEqual([id]);
		await scene.clock.advance(20_000);
		expect(await waiting).toEqual([]);
	});

	test("a worker that has gone no longer counts", async (scene) => {
		await register(scene, "able", ["gpu"], { ttlMs: 5000 });
		const id = await scene.create(gpu);
		await scene.claim();
		expect(await scene.get(id)).toMatchObject(eligible);
		await scene.clock.advance(5000);
		await scene.claim();
		expect(await scene.get(id)).toMatchObject(blocked);
	});

	test("a worker that was taken out of the registry no longer counts", async (scene) => {
		await register(scene, "able", ["gpu"]);
		const id = await scene.create(gpu);
		await scene.claim();
		await scene.backend.workers.remove("able");
		await scene.claim();
		expect(await scene.get(id)).toMatchObject(blocked);
	});

	test("registering again with more releases what waits for that", async (scene) => {
		await register(scene, "w", []);
		const id = await scene.create(gpu);
		await scene.claim({ instanceId: "w" });
		expect(await scene.get(id)).toMatchObject(blocked);
		await register(scene, "w", ["gpu"]);
		expect(await scene.get(id)).toMatchObject(eligible);
	});

	test("workers and capabilities of one tenant mean nothing to another's work", async (scene) => {
		await register(scene, "able", ["gpu"], { namespace: "b" });
		const id = await scene.create({ ...gpu, namespace: "a" });
		await scene.claim({ namespace: "a" });
		expect(await scene.get(id)).toMatchObject(blocked);
		await register(scene, "later", ["gpu"], { namespace: "b" });
		expect(await scene.get(id)).toMatchObject(blocked);
		await register(scene, "mine", ["gpu"], { namespace: "a" });
		expect(await scene.get(id)).toMatchObject(eligible);
	});

	test("a claim for another lane leaves work alone", async (scene) => {
		const id = await scene.create({ ...gpu, lane: "media" });
		await scene.claim({ lanes: ["default"] });
		expect(await scene.get(id)).toMatchObject(eligible);
	});

	test("work that requires nothing is never blocked for want of a worker", async (scene) => {
		const id = await scene.create({ kind: "rare" });
		await scene.claim({ kinds: ["common"] });
		expect(await scene.get(id)).toMatchObject(eligible);
	});

	test("blocked work is cancelled, reprioritised, tagged and expired like any other", async (scene) => {
		const one = await scene.create(gpu);
		const two = await scene.create({ ...gpu, policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.claim();
		await scene.backend.executions.changePriority(one, { priority: 5 });
		await scene.backend.executions.setTags(one, { set: { a: "b" } });
		expect(await scene.get(one)).toMatchObject({ ...blocked, priority: 5 });
		await scene.backend.executions.cancel(one);
		await scene.clock.advance(1000);
		for (const [id, publicState] of [
			[one, "cancelled"],
			[two, "expired"],
		] as const) {
			expect(await scene.get(id)).toMatchObject({ publicState, blockingDetail: "" });
			expect((await scene.get(id)).blockedAt).toBeUndefined();
		}
	});

	test("blocked work under a fairness key comes back under it", async (scene) => {
		const ids = [await scene.create({ ...gpu, fairnessKey: "a" }), await scene.create({ ...gpu, fairnessKey: "b" })];
		await scene.claim();
		for (const id of ids) expect(await scene.get(id)).toMatchObject(blocked);
		const got = [
			await scene.take({ instanceId: "x", capabilities: ["gpu"] }),
			await scene.take({ instanceId: "x", capabilities: ["gpu"] }),
		];
		expect(new Set(got.map(({ id }) => id))).toEqual(new Set(ids));
	});

	test("a thousand that wait are all blocked, and all released", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 1000 }, () => ({ kind: "job", ...gpu })));
		await scene.claim();
		await scene.clock.settle();
		const count = async (eligibilityState: string): Promise<number> =>
			(await scene.backend.executions.list({ limit: 1000 })).executions.filter(
				({ state }) => state.eligibilityState === eligibilityState,
			).length;
		expect(await count("blocked_by_route")).toBe(1000);
		await register(scene, "able", ["gpu"]);
		await scene.clock.settle();
		expect(await count("eligible_now")).toBe(1000);
		expect(await scene.claim({ instanceId: "able", capabilities: ["gpu"], max: 256 })).not.toEqual([]);
	});

	test("a claim, while it waits, keeps its worker registered", async (scene) => {
		await register(scene, "w", ["gpu"], { ttlMs: 6000 });
		const waiting = scene.claim({ instanceId: "w", capabilities: ["gpu"], waitMs: 30_000 });
		await scene.clock.advance(29_000);
		expect((await scene.backend.workers.list()).workers).toMatchObject([{ instanceId: "w" }]);
		await scene.clock.advance(1000);
		expect(await waiting).toEqual([]);
		await scene.clock.advance(6001);
		expect((await scene.backend.workers.list()).workers).toEqual([]);
	});

	test("renewing a lease keeps its worker registered", async (scene) => {
		await register(scene, "w", [], { ttlMs: 6000 });
		const held = await scene.start({}, { instanceId: "w", leaseMs: 30_000 });
		for (let n = 0; n < 6; n++) {
			await scene.clock.advance(3000);
			await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
			await scene.clock.settle();
		}
		expect((await scene.backend.workers.list()).workers).toMatchObject([{ instanceId: "w" }]);
	});

	test("a capable worker that only claims is in the registry while it does", async (scene) => {
		await scene.claim({ instanceId: "plain", capabilities: ["gpu"] });
		expect((await scene.backend.workers.list()).workers).toMatchObject([
			{ instanceId: "plain", capabilities: ["gpu"], lanes: ["default"] },
		]);
		await scene.clock.advance(30_000);
		expect((await scene.backend.workers.list()).workers).toEqual([]);
	});

	test("a worker that offers nothing is not registered by claiming", async (scene) => {
		await scene.claim({ instanceId: "plain" });
		await scene.clock.settle();
		expect((await scene.backend.workers.list()).workers).toEqual([]);
	});
}
