import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

const hour = 3_600_000;

export function timeoutCases(test: PublicCase): void {
	test("attemptMs ends the attempt; without a retry policy the work fails", async (scene) => {
		const { id, fence } = await scene.start({ policy: { timeouts: { attemptMs: 1000 } } });
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect(await scene.get(id)).toMatchObject({ publicState: "failed", failure: { category: "timeout" } });
		expect((await refusal(scene.backend.leases.complete(id, { fence }))).code).toBe("execution_not_active");
	});

	test("attemptMs ends the attempt; the retry policy decides what follows", async (scene) => {
		const retry = { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 500 } };
		const { id } = await scene.start({ policy: { timeouts: { attemptMs: 1000 }, retry } });
		await scene.clock.advance(1000);
		expect(await scene.get(id)).toMatchObject({ publicState: "delayed", retries: 1, delayUntil: scene.now + 500 });
		await scene.clock.advance(500);
		expect(await scene.take()).toMatchObject({ id, attempt: { index: 1, type: "retry" } });
		await scene.clock.advance(1000);
		expect((await scene.get(id)).publicState).toBe("failed");
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ state: "ended_failure", failure: { category: "timeout" } },
			{ state: "ended_failure", failure: { category: "timeout" } },
		]);
	});

	test("the category timeout can be kept from being retried", async (scene) => {
		const retry = { nonRetryableCategories: ["timeout"] };
		const { id } = await scene.start({ policy: { timeouts: { attemptMs: 1000 }, retry } });
		await scene.clock.advance(1000);
		expect((await scene.get(id)).publicState).toBe("failed");
	});

	test("renewing a lease does not lengthen attemptMs", async (scene) => {
		const held = await scene.start({ policy: { timeouts: { attemptMs: 2500 } } }, { leaseMs: 1000 });
		for (let n = 0; n < 3; n++) {
			await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
			await scene.clock.advance(800);
		}
		expect((await scene.get(held.id)).publicState).toBe("active");
		await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
		await scene.clock.advance(100);
		expect((await scene.get(held.id)).publicState).toBe("failed");
	});

	test("attemptMs counts time under lease only, over a release and a delay", async (scene) => {
		const { id, fence } = await scene.start({ policy: { timeouts: { attemptMs: 1000 } } });
		await scene.clock.advance(400);
		await scene.backend.leases.release(id, { fence });
		await scene.clock.advance(hour);
		const second = await scene.take();
		await scene.clock.advance(400);
		await scene.backend.leases.delay(id, { fence: second.fence, delayMs: hour });
		await scene.clock.advance(2 * hour);
		await scene.take();
		await scene.clock.advance(199);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect(await scene.get(id)).toMatchObject({ publicState: "failed", attempt: { index: 0 } });
	});

	test("a new attempt has its whole attemptMs", async (scene) => {
		const { id } = await scene.start({ policy: { timeouts: { attemptMs: 1000 } } });
		await scene.clock.advance(900);
		await scene.backend.executions.revokeLease(id);
		await scene.take();
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("failed");
	});

	test("queueMs expires work that nobody claimed in time", async (scene) => {
		const id = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect(await scene.get(id)).toMatchObject({ publicState: "expired", completedAt: scene.now });
		expect(await scene.claim()).toEqual([]);
	});

	test("queueMs does not run while work is delayed or claimed", async (scene) => {
		const id = await scene.create({ delayMs: hour, policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(hour);
		const { fence } = await scene.take({ leaseMs: hour });
		await scene.clock.advance(5000);
		await scene.backend.leases.delay(id, { fence, delayMs: hour });
		await scene.clock.advance(hour);
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("queueMs counts anew from each time work becomes eligible", async (scene) => {
		const retry = { backoff: { type: "fixed" as const, delayMs: 100 } };
		const id = await scene.create({ delayMs: 100, policy: { timeouts: { queueMs: 1000 }, retry } });
		await scene.clock.advance(100 + 900);
		const first = await scene.take();
		await scene.backend.leases.release(id, { fence: first.fence });
		await scene.clock.advance(900);
		const second = await scene.take();
		await scene.backend.leases.fail(id, { fence: second.fence, reason: "broken" });
		await scene.clock.advance(100 + 900);
		await scene.take({ leaseMs: 100 });
		await scene.clock.advance(100 + 999);
		expect((await scene.get(id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("expired");
	});

	test("queueMs runs on while no live worker can serve the work", async (scene) => {
		const id = await scene.create({ requiredCapabilities: ["gpu"], policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(300);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.state(id)).eligibilityState).toBe("blocked_by_route");
		await scene.clock.advance(699);
		expect((await scene.get(id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect(await scene.get(id)).toMatchObject({ publicState: "expired", completedAt: scene.now });
		expect((await scene.get(id)).failure?.reason).toContain("queue");
		expect(await scene.eventTypes(id)).toEqual(["created", "blocked", "expired"]);
	});

	test("queueMs does not begin anew when work that was blocked is released", async (scene) => {
		const id = await scene.create({ requiredCapabilities: ["gpu"], policy: { timeouts: { queueMs: 1000 } } });
		await scene.claim();
		await scene.clock.advance(900);
		await scene.backend.workers.register("able", { workerId: "w", capabilities: ["gpu"], lanes: ["default"] });
		expect((await scene.state(id)).eligibilityState).toBe("eligible_now");
		await scene.clock.advance(99);
		expect((await scene.get(id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("expired");
	});

	test("queueMs runs on while the lane is paused", async (scene) => {
		const id = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		await scene.backend.lanes.pause("default");
		await scene.clock.advance(1000);
		expect((await scene.get(id)).publicState).toBe("expired");
	});

	test("deadlineMs expires work whatever it is doing", async (scene) => {
		const policy = { timeouts: { deadlineMs: 1000 }, retry: { backoff: { type: "fixed" as const, delayMs: hour } } };
		const waiting = await scene.create({ policy, lane: "elsewhere" });
		const delayed = await scene.create({ policy, delayMs: hour });
		const active = await scene.start({ policy });
		const retrying = await scene.start({ policy });
		await scene.backend.leases.fail(retrying.id, { fence: retrying.fence, reason: "broken" });
		await scene.clock.advance(999);
		const ids = [waiting, delayed, active.id, retrying.id];
		for (const id of ids) expect((await scene.get(id)).publicState).not.toBe("expired");
		await scene.clock.advance(1);
		for (const id of ids) expect(await scene.get(id)).toMatchObject({ publicState: "expired", completedAt: scene.now });
	});

	test("deadlineMs runs on over claims, renewals and delays", async (scene) => {
		const held = await scene.start({ policy: { timeouts: { deadlineMs: 3000 } } }, { leaseMs: 1500 });
		await scene.clock.advance(1000);
		await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
		await scene.clock.advance(1000);
		await scene.backend.leases.delay(held.id, { fence: held.fence, delayMs: 500 });
		await scene.clock.advance(500);
		await scene.take({ leaseMs: hour });
		await scene.clock.advance(499);
		expect((await scene.get(held.id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect((await scene.get(held.id)).publicState).toBe("expired");
	});

	test("the holder of expired work hears that it is not active, with the outcome", async (scene) => {
		const { id, fence } = await scene.start({ policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(1000);
		expect(await refusal(scene.backend.leases.complete(id, { fence, result: 1 }))).toMatchObject({
			code: "execution_not_active",
			details: { outcome: "expired", epoch: 1, attempt: 0 },
		});
		expect((await refusal(scene.backend.executions.result(id))).code).toBe("result_not_found");
	});

	test("expired work says what ran out", async (scene) => {
		const queue = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		const deadline = await scene.create({ policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(1000);
		expect((await scene.get(queue)).failure?.reason).toContain("queue");
		expect((await scene.get(deadline)).failure?.reason).toContain("deadline");
		expect((await scene.events(queue)).at(-1)).toMatchObject({
			type: "expired",
			reason: expect.stringContaining("queue"),
		});
	});

	test("expired work is not retried", async (scene) => {
		const { id } = await scene.start({ policy: { timeouts: { deadlineMs: 1000 }, retry: {} } });
		await scene.clock.advance(1000);
		await scene.clock.advance(hour);
		expect(await scene.get(id)).toMatchObject({ publicState: "expired", retries: 0 });
	});

	test("work that ended in time is left alone by its timeouts", async (scene) => {
		const { id } = await scene.finished({ policy: { timeouts: { attemptMs: 500, queueMs: 500, deadlineMs: 500 } } });
		await scene.clock.advance(5000);
		expect((await scene.get(id)).publicState).toBe("completed");
	});

	test("a replay of expired work has its deadline anew", async (scene) => {
		const id = await scene.create({ policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(5000);
		await scene.backend.executions.replay(id);
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("expired");
	});
}
