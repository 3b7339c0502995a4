import { expect } from "vitest";
import type { CreateQuotaRequest } from "../../../src/index.ts";
import type { PublicCase, Scene } from "../scene.ts";
import { suspended, wait } from "../suspended-work.ts";

/** Lets messages between partitions arrive, and what waits be released. */
const settle = (scene: Scene) => scene.clock.advance(20);

const quota = (scene: Scene, request: Partial<CreateQuotaRequest> = {}) =>
	scene.backend.quotas.create({ id: "q", concurrency: 1, ...request });

const held = async (scene: Scene, id = "q") => (await scene.backend.quotas.get(id)).concurrency?.held;

/** Slots of quotas while their execution is suspended. */
export function keptSlotCases(test: PublicCase): void {
	test("suspending gives the slot back, and others take it", async (scene) => {
		await quota(scene);
		const work = await suspended(scene, {}, { quotas: ["q"] });
		await settle(scene);
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 0 }, holders: [] });
		await scene.start({ quotas: ["q"] });
		await work.send();
		expect(await scene.claim()).toEqual([]);
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "rate_limited",
			blockingDetail: "quota q: concurrency 1/1",
		});
	});

	test("a reservation is given back by suspending, too", async (scene) => {
		await scene.backend.budgets.create({ id: "b", dimensions: { tokens: { hard: 100 } } });
		await suspended(scene, {}, { budgets: ["b"], reserve: { b: { tokens: 60 } } });
		await settle(scene);
		expect((await scene.backend.budgets.get("b")).dimensions.tokens).toMatchObject({ reserved: 0 });
	});

	test("with holdWhileSuspended the slot is kept, and nobody else has it", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		const work = await suspended(scene, {}, { quotas: ["q"] });
		const other = await scene.create({ quotas: ["q"] });
		await settle(scene);
		expect(await held(scene)).toBe(1);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(other)).blockingDetail).toBe("quota q: concurrency 1/1");
		expect((await work.send()).effect).toBe("resumed");
	});

	test("the next lease takes the kept slot over, and no place in the window", async (scene) => {
		await quota(scene, { holdWhileSuspended: true, rate: { max: 1, windowMs: 600_000 } });
		const work = await suspended(scene, {}, { quotas: ["q"] });
		await work.send();
		const resumed = await scene.take();
		expect(resumed.id).toBe(work.id);
		await settle(scene);
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 1 }, rate: { counted: 1 } });
		await scene.backend.leases.complete(work.id, { fence: resumed.fence });
		await settle(scene);
		expect(await held(scene)).toBe(0);
	});

	test("a kept slot is shown with the suspension that keeps it, then with the grant or the lease that took it over", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		const work = await suspended(scene, {}, { quotas: ["q"] });
		const since = scene.now;
		const holders = async () => (await scene.backend.quotas.get("q")).holders;
		const { suspensionId } = work.reply;
		await scene.clock.advance(100);
		expect(await holders()).toEqual([{ executionId: work.id, suspensionId, since }]);
		await work.send();
		expect(await holders()).toEqual([{ executionId: work.id, suspensionId, since }]);
		const worker = { workerId: "worker", instanceId: "instance-1" };
		const grant = await scene.backend.leases.grant({ ...worker, grantTtlMs: 1000 });
		expect(await holders()).toEqual([{ executionId: work.id, grantId: grant?.grantId, since }]);
		const { lease } = await scene.backend.leases.acceptGrant(grant?.grantId ?? "", { instanceId: "instance-1" });
		expect(await holders()).toEqual([{ executionId: work.id, leaseId: lease.id, since }]);
	});

	test("it is kept over suspension after suspension", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		let work = await suspended(scene, {}, { quotas: ["q"] });
		for (let n = 0; n < 3; n++) {
			await work.send();
			work = await wait(scene, await scene.take());
			await settle(scene);
			expect(await held(scene)).toBe(1);
		}
		await scene.backend.executions.cancel(work.id);
		await settle(scene);
		expect(await held(scene)).toBe(0);
	});

	const ends: Record<string, (scene: Scene, id: string) => Promise<unknown>> = {
		"is cancelled": (scene, id) => scene.backend.executions.cancel(id),
		"times out": (scene) => scene.clock.advance(60_000),
		"is resumed, and completes": async (scene, id) => {
			await scene.backend.waitpoints.resume(id);
			await scene.backend.leases.complete(id, { fence: (await scene.take()).fence });
		},
		"is resumed, and loses its lease": async (scene, id) => {
			await scene.backend.waitpoints.resume(id);
			await scene.take();
			await scene.clock.advance(31_000);
			await scene.backend.executions.cancel(id);
		},
		"is resumed, and handed back": async (scene, id) => {
			await scene.backend.waitpoints.resume(id);
			await scene.backend.leases.release(id, { fence: (await scene.take()).fence });
			await scene.backend.executions.cancel(id);
		},
		"is resumed, and cancelled before anybody takes it": async (scene, id) => {
			await scene.backend.waitpoints.resume(id);
			await scene.backend.executions.cancel(id);
		},
	};
	for (const [how, end] of Object.entries(ends)) {
		test(`a kept slot is freed when its execution ${how}`, async (scene) => {
			await quota(scene, { holdWhileSuspended: true });
			const { id } = await suspended(scene, { timeoutMs: 60_000 }, { quotas: ["q"] });
			expect(await held(scene)).toBe(1);
			await end(scene, id);
			await settle(scene);
			expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 0 }, holders: [] });
			expect((await scene.start({ quotas: ["q"] })).attempt.type).toBe("initial");
		});
	}

	test("the reconciler counts kept slots, and leaves them alone", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		await suspended(scene, {}, { quotas: ["q"] });
		await scene.clock.advance(1_200_000);
		expect(await held(scene)).toBe(1);
	});

	test("of several quotas each does as it says", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		await quota(scene, { id: "r" });
		const work = await suspended(scene, {}, { quotas: ["q", "r"] });
		await settle(scene);
		expect([await held(scene), await held(scene, "r")]).toEqual([1, 0]);
		await work.send();
		await scene.take();
		await settle(scene);
		expect([await held(scene), await held(scene, "r")]).toEqual([1, 1]);
	});

	test("resumed work that another quota refuses keeps its slot while it waits", async (scene) => {
		await quota(scene, { holdWhileSuspended: true });
		await quota(scene, { id: "r" });
		const work = await suspended(scene, {}, { quotas: ["q", "r"] });
		const other = await scene.start({ quotas: ["r"] });
		await work.send();
		expect(await scene.claim()).toEqual([]);
		await settle(scene);
		expect(await held(scene)).toBe(1);
		await scene.backend.leases.complete(other.id, { fence: other.fence });
		await settle(scene);
		expect((await scene.take()).id).toBe(work.id);
	});
}
