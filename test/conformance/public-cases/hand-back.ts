import { expect } from "vitest";
import type { PublicCase, Scene } from "../scene.ts";

/** What a holder does without ending its work: hand back, delay, tell progress. */
export function handBackCases(test: PublicCase): void {
	test("released work goes on at once as the same attempt, and is no reclaim", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.leases.release(id, { fence })).toEqual({ publicState: "waiting" });
		expect(await scene.get(id)).toMatchObject({ reclaims: 0, retries: 0 });
		expect(await scene.get(id)).not.toHaveProperty("lease");
		const again = await scene.take({ instanceId: "instance-2" });
		expect(again).toMatchObject({ id, attempt: { index: 0, type: "initial" }, lease: { epoch: 2 } });
		await scene.backend.leases.complete(id, { fence: again.fence });
		expect(await scene.backend.executions.attempts(id)).toMatchObject([{ index: 0, state: "ended_success" }]);
	});

	test("releasing any number of times uses up no reclaims", async (scene) => {
		const id = await scene.create({ policy: { maxReclaims: 0 } });
		for (let n = 0; n < 5; n++) {
			const { fence } = await scene.take();
			await scene.backend.leases.release(id, { fence });
			await scene.clock.advance(1000);
		}
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0 });
	});

	test("work that is handed back again and again is kept back, twice as long each time, up to 30 s", async (scene) => {
		const id = await scene.create();
		const waits: number[] = [];
		for (let n = 0; n < 21; n++) {
			const { fence } = await scene.take();
			const { delayUntil = scene.now } = await scene.backend.leases.release(id, { fence });
			waits.push(delayUntil - scene.now);
			await scene.clock.advance(delayUntil - scene.now);
		}
		const doubled = [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000];
		expect(waits).toEqual([...Array(10).fill(0), ...doubled]);
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting", reclaims: 0, retries: 0 });
	});

	test("work that is kept back says so, and goes on as the same attempt", async (scene) => {
		const { id, delayUntil } = await handedAround(scene);
		expect(await scene.state(id)).toEqual({
			publicState: "delayed",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "not_eligible_until_time",
			blockingReason: "waiting_for_delay",
			terminalOutcome: "none",
			attemptState: "attempt_interrupted",
		});
		const { blockingDetail } = await scene.get(id);
		expect(blockingDetail).toContain("handed it back 11 times in a row");
		expect(blockingDetail).toContain(new Date(delayUntil).toISOString());
		expect((await scene.events(id)).at(-1)).toMatchObject({ type: "lease_released", delayUntil });
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(100);
		expect(await scene.take()).toMatchObject({ id, attempt: { index: 0, type: "initial" }, lease: { epoch: 12 } });
		expect((await scene.get(id)).blockingDetail).toBe("");
	});

	test("a release that is sent twice is told the same, and counts once", async (scene) => {
		const { id, fence, delayUntil } = await handedAround(scene);
		expect(await scene.backend.leases.release(id, { fence })).toEqual({ publicState: "delayed", delayUntil });
		await scene.clock.advance(100);
		const again = await scene.take();
		expect(await scene.backend.leases.release(id, { fence: again.fence })).toEqual({
			publicState: "delayed",
			delayUntil: scene.now + 200,
		});
	});

	test("work that was held for a while before it was handed back goes on at once", async (scene) => {
		const { id } = await handedAround(scene);
		await scene.clock.advance(100);
		const { fence } = await scene.take();
		await scene.clock.advance(200);
		expect(await scene.backend.leases.release(id, { fence })).toEqual({ publicState: "waiting" });
	});

	test("whatever else a holder does begins the count anew", async (scene) => {
		const { id } = await handedAround(scene);
		await scene.clock.advance(100);
		const { fence } = await scene.take();
		await scene.backend.leases.delay(id, { fence, delayMs: 10 });
		expect((await scene.get(id)).blockingDetail).toMatch(/^delayed until/);
		await scene.clock.advance(10);
		const again = await scene.take();
		expect(await scene.backend.leases.release(id, { fence: again.fence })).toEqual({ publicState: "waiting" });
	});

	test("delayed work goes on later as the same attempt", async (scene) => {
		const { id, fence } = await scene.start();
		const delayUntil = scene.now + 2000;
		expect(await scene.backend.leases.delay(id, { fence, delayMs: 2000 })).toEqual({
			publicState: "delayed",
			delayUntil,
		});
		await scene.clock.advance(1999);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(1);
		expect(await scene.take()).toMatchObject({ id, attempt: { index: 0, type: "initial" }, lease: { epoch: 2 } });
		expect(await scene.get(id)).toMatchObject({ reclaims: 0, retries: 0 });
	});

	test("a delay may name the time", async (scene) => {
		const { id, fence } = await scene.start();
		const delayUntil = scene.now + 5000;
		expect(await scene.backend.leases.delay(id, { fence, delayUntil })).toEqual({ publicState: "delayed", delayUntil });
		await scene.clock.advance(5000);
		expect((await scene.take()).id).toBe(id);
	});

	test("a delay of 0, or until a time in the past, goes on at once", async (scene) => {
		for (const when of [{ delayMs: 0 }, { delayUntil: scene.now - 1000 }]) {
			const { id, fence } = await scene.start();
			await scene.backend.leases.delay(id, { fence, ...when });
			await scene.clock.settle();
			const again = await scene.take();
			expect(again.id).toBe(id);
			await scene.backend.leases.complete(id, { fence: again.fence });
		}
	});

	test("a retry that was handed back goes on as that same retry", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: { type: "fixed", delayMs: 10 } } } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		await scene.clock.advance(10);
		const retry = await scene.take();
		await scene.backend.leases.release(id, { fence: retry.fence });
		expect(await scene.take()).toMatchObject({ attempt: { index: 1, type: "retry" } });
	});

	test("an attempt that changes hands shows who holds it now", async (scene) => {
		const { id, fence } = await scene.start({}, { workerId: "a", instanceId: "a-1" });
		await scene.backend.leases.release(id, { fence });
		await scene.take({ workerId: "b", instanceId: "b-1" });
		expect((await scene.get(id)).lease).toMatchObject({ workerId: "b", instanceId: "b-1" });
		expect(await scene.backend.executions.attempts(id)).toMatchObject([{ index: 0, workerId: "b", instanceId: "b-1" }]);
	});

	test("progress is shown while the work runs", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.leases.progress(id, { fence, percent: 40, message: "reading" })).toEqual({
			percent: 40,
			message: "reading",
		});
		expect((await scene.get(id)).progress).toEqual({ percent: 40, message: "reading" });
	});

	test("progress that is not given stays as it was", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.progress(id, { fence, percent: 40, message: "reading" });
		expect(await scene.backend.leases.progress(id, { fence, percent: 60 })).toEqual({
			percent: 60,
			message: "reading",
		});
		expect(await scene.backend.leases.progress(id, { fence, message: "writing" })).toEqual({
			percent: 60,
			message: "writing",
		});
		expect(await scene.backend.leases.progress(id, { fence })).toEqual({ percent: 60, message: "writing" });
		expect((await scene.get(id)).progress).toEqual({ percent: 60, message: "writing" });
	});

	test("progress takes 0, 100 and fractions, and may go back", async (scene) => {
		const { id, fence } = await scene.start();
		for (const percent of [0, 100, 33.3, 1]) {
			expect(await scene.backend.leases.progress(id, { fence, percent })).toEqual({ percent });
		}
	});

	test("progress is no event and stays visible after the end", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.progress(id, { fence, percent: 90 });
		await scene.backend.leases.complete(id, { fence });
		expect(await scene.eventTypes(id)).toEqual(["created", "claimed", "completed"]);
		expect((await scene.get(id)).progress).toEqual({ percent: 90 });
	});

	test("startedAt is the first claim and completedAt the end", async (scene) => {
		await scene.clock.advance(10);
		const { id, fence } = await scene.start();
		const startedAt = scene.now;
		await scene.clock.advance(10);
		await scene.backend.leases.release(id, { fence });
		await scene.clock.advance(10);
		const again = await scene.take();
		expect(await scene.get(id)).toMatchObject({ startedAt });
		await scene.clock.advance(10);
		await scene.backend.leases.complete(id, { fence: again.fence });
		expect(await scene.get(id)).toMatchObject({ startedAt, completedAt: scene.now });
	});
}

/** Work that was just handed back for the eleventh time in a row. */
async function handedAround(scene: Scene) {
	const id = await scene.create();
	for (let n = 0; n < 10; n++) {
		const { fence } = await scene.take();
		expect(await scene.backend.leases.release(id, { fence })).toEqual({ publicState: "waiting" });
	}
	const { fence } = await scene.take();
	const delayUntil = scene.now + 100;
	expect(await scene.backend.leases.release(id, { fence })).toEqual({ publicState: "delayed", delayUntil });
	return { id, fence, delayUntil };
}
