import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

export function lostWorkCases(test: PublicCase): void {
	test("work whose lease lapses is back in the queue at once, as a reclaim", async (scene) => {
		const { id } = await scene.start({ input: { still: "here" } }, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting", reclaims: 1, retries: 0 });
		expect(await scene.get(id)).not.toHaveProperty("lease");
		expect(await scene.take()).toMatchObject({
			id,
			input: { still: "here" },
			attempt: { index: 1, type: "reclaim" },
			lease: { epoch: 2 },
		});
	});

	test("the attempt that lost its lease ends as interrupted_reclaimed", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ index: 0, type: "initial", state: "interrupted_reclaimed", endedAt: scene.now },
		]);
		const { fence } = await scene.take();
		await scene.backend.leases.complete(id, { fence });
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ index: 0, state: "interrupted_reclaimed" },
			{ index: 1, type: "reclaim", state: "ended_success" },
		]);
	});

	test("work lost more often than maxReclaims fails with max_reclaims_exceeded", async (scene) => {
		const id = await scene.create({ policy: { maxReclaims: 2 } });
		for (let n = 0; n < 3; n++) {
			await scene.take({ leaseMs: 100 });
			await scene.clock.advance(100);
		}
		expect(await scene.get(id)).toMatchObject({
			publicState: "failed",
			failure: { category: "max_reclaims_exceeded" },
			completedAt: scene.now,
		});
		expect(await scene.backend.executions.attempts(id)).toHaveLength(3);
	});

	test("maxReclaims 0 fails work the first time it is lost", async (scene) => {
		const { id, fence } = await scene.start({ policy: { maxReclaims: 0 } }, { leaseMs: 100 });
		await scene.clock.advance(100);
		expect(await scene.get(id)).toMatchObject({ publicState: "failed" });
		expect((await refusal(scene.backend.leases.complete(id, { fence }))).code).toBe("lease_expired");
	});

	test("work survives 100 lost leases by default, not 101", async (scene) => {
		const id = await scene.create();
		for (let n = 0; n < 100; n++) {
			await scene.take({ leaseMs: 100 });
			await scene.clock.advance(100);
		}
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting", reclaims: 100 });
		await scene.take({ leaseMs: 100 });
		await scene.clock.advance(100);
		expect((await scene.get(id)).publicState).toBe("failed");
	});

	test("a lost lease is not retried by the retry policy, whatever it says", async (scene) => {
		const { id } = await scene.start({ policy: { maxReclaims: 0, retry: { maxRetries: 5 } } }, { leaseMs: 100 });
		await scene.clock.advance(100);
		expect(await scene.get(id)).toMatchObject({ publicState: "failed", retries: 0 });
	});

	test("revoked leases are not counted against maxReclaims", async (scene) => {
		const { id } = await scene.start({ policy: { maxReclaims: 0 } });
		for (let n = 0; n < 3; n++) {
			await scene.backend.executions.revokeLease(id);
			expect((await scene.get(id)).publicState).toBe("waiting");
			await scene.take();
		}
	});

	test("many leases lapse together and all work returns", async (scene) => {
		await scene.backend.executions.createMany(Array.from({ length: 300 }, () => ({ kind: "job" })));
		const claimed = [
			...(await scene.claim({ max: 256, leaseMs: 1000 })),
			...(await scene.claim({ max: 256, leaseMs: 1000 })),
		];
		expect(claimed).toHaveLength(300);
		await scene.clock.advance(1000);
		const { executions } = await scene.backend.executions.list({ limit: 1000, state: "waiting" });
		expect(executions).toHaveLength(300);
		expect(executions.every(({ reclaims }) => reclaims === 1)).toBe(true);
	});

	test("a lease that lapsed is told in the history with its epoch, and by whom", async (scene) => {
		const { id, fence } = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect((await scene.events(id)).at(-1)).toMatchObject({
			type: "lease_expired",
			at: scene.now,
			epoch: fence.epoch,
			attempt: 0,
			actor: "lease_expiry",
		});
	});
}
