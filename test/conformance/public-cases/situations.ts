import { expect } from "vitest";
import type { PublicCase } from "../scene.ts";

/** The seven fields of situations that several cases reach. */
const waiting = {
	publicState: "waiting",
	lifecyclePhase: "runnable",
	ownershipState: "unowned",
	eligibilityState: "eligible_now",
	blockingReason: "waiting_for_worker",
	terminalOutcome: "none",
};
const delayed = {
	...waiting,
	publicState: "delayed",
	eligibilityState: "not_eligible_until_time",
	blockingReason: "waiting_for_delay",
};
const active = {
	publicState: "active",
	lifecyclePhase: "active",
	ownershipState: "leased",
	eligibilityState: "not_applicable",
	blockingReason: "none",
	terminalOutcome: "none",
	attemptState: "running_attempt",
};

export function situationCases(test: PublicCase): void {
	test("created work waits for a worker", async (scene) => {
		const id = await scene.create();
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "pending_first_attempt" });
	});

	test("work created for later is delayed, then waits for a worker", async (scene) => {
		const id = await scene.create({ delayMs: 1000 });
		expect(await scene.state(id)).toEqual({ ...delayed, attemptState: "pending_first_attempt" });
		await scene.clock.advance(999);
		expect(await scene.state(id)).toEqual({ ...delayed, attemptState: "pending_first_attempt" });
		await scene.clock.advance(1);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "pending_first_attempt" });
	});

	test("claimed work is active under its lease", async (scene) => {
		const { id } = await scene.start();
		expect(await scene.state(id)).toEqual(active);
	});

	test("work whose lease lapsed is back in the queue, its attempt interrupted", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(999);
		expect(await scene.state(id)).toEqual(active);
		await scene.clock.advance(1);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "attempt_interrupted" });
	});

	test("work whose lease was revoked is back in the queue, its attempt interrupted", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.revokeLease(id);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "attempt_interrupted" });
	});

	test("released work is back in the queue, its attempt interrupted", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.release(id, { fence });
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "attempt_interrupted" });
	});

	test("work to be retried is delayed by its backoff, then waits for a worker", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: { type: "fixed", delayMs: 500 } } } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect(await scene.state(id)).toEqual({
			...delayed,
			blockingReason: "waiting_for_retry_backoff",
			attemptState: "pending_retry_attempt",
		});
		await scene.clock.advance(500);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "pending_retry_attempt" });
		await scene.take();
		expect(await scene.state(id)).toEqual(active);
	});

	test("work its worker delayed is delayed with its attempt interrupted, then waits for a worker", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.delay(id, { fence, delayMs: 500 });
		expect(await scene.state(id)).toEqual({ ...delayed, attemptState: "attempt_interrupted" });
		await scene.clock.advance(500);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "attempt_interrupted" });
		await scene.take();
		expect(await scene.state(id)).toEqual(active);
	});

	test("replayed work waits for a worker with a replay pending", async (scene) => {
		const { id } = await scene.finished();
		await scene.backend.executions.replay(id);
		expect(await scene.state(id)).toEqual({ ...waiting, attemptState: "pending_replay_attempt" });
	});

	test("work asked to cancel gracefully stays active until its holder ends it", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.cancel(id);
		expect(await scene.state(id)).toEqual(active);
	});

	endCases(test);
	detailCases(test);
}

const ended = {
	lifecyclePhase: "terminal",
	ownershipState: "unowned",
	eligibilityState: "not_applicable",
	blockingReason: "none",
	attemptState: "attempt_terminal",
};

function endCases(test: PublicCase): void {
	test("completed work has ended in success", async (scene) => {
		const { id } = await scene.finished();
		expect(await scene.state(id)).toEqual({ ...ended, publicState: "completed", terminalOutcome: "success" });
	});

	test("failed work has ended in failure", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect(await scene.state(id)).toEqual({ ...ended, publicState: "failed", terminalOutcome: "failed" });
	});

	test("work cancelled while it ran has ended with an attempt", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.cancel(id, { mode: "force" });
		expect(await scene.state(id)).toEqual({ ...ended, publicState: "cancelled", terminalOutcome: "cancelled" });
	});

	test("work cancelled before it ran has ended without an attempt", async (scene) => {
		const ids = [await scene.create(), await scene.create({ delayMs: 1000 })];
		for (const id of ids) {
			await scene.backend.executions.cancel(id);
			expect(await scene.state(id)).toEqual({
				...ended,
				publicState: "cancelled",
				terminalOutcome: "cancelled",
				attemptState: "none",
			});
			expect(await scene.backend.executions.attempts(id)).toEqual([]);
		}
	});

	test("work cancelled between two attempts has ended with an attempt", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: {} } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		await scene.backend.executions.cancel(id);
		expect(await scene.state(id)).toEqual({ ...ended, publicState: "cancelled", terminalOutcome: "cancelled" });
	});

	test("work that expired before it ran has ended without an attempt", async (scene) => {
		const ids = [
			await scene.create({ policy: { timeouts: { queueMs: 1000 } } }),
			await scene.create({ policy: { timeouts: { deadlineMs: 1000 } } }),
			await scene.create({ delayMs: 5000, policy: { timeouts: { deadlineMs: 1000 } } }),
		];
		await scene.clock.advance(1000);
		for (const id of ids) {
			expect(await scene.state(id)).toEqual({
				...ended,
				publicState: "expired",
				terminalOutcome: "expired",
				attemptState: "none",
			});
		}
	});

	test("work that expired while it ran has ended with an attempt", async (scene) => {
		const { id } = await scene.start({ policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(1000);
		expect(await scene.state(id)).toEqual({ ...ended, publicState: "expired", terminalOutcome: "expired" });
	});
}

function detailCases(test: PublicCase): void {
	test("blockingDetail names the lane that work waits in", async (scene) => {
		const id = await scene.create({ lane: "media files" });
		expect((await scene.get(id)).blockingDetail).toContain("media files");
	});

	test("blockingDetail names the time a delay ends", async (scene) => {
		const delayUntil = scene.now + 60_000;
		const id = await scene.create({ delayUntil });
		expect((await scene.get(id)).blockingDetail).toContain(new Date(delayUntil).toISOString());
		const { id: running, fence } = await scene.start();
		await scene.backend.leases.delay(running, { fence, delayUntil });
		expect((await scene.get(running)).blockingDetail).toContain(new Date(delayUntil).toISOString());
	});

	test("blockingDetail names the time of a retry and what went wrong", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: {} } });
		await scene.backend.leases.fail(id, { fence, reason: "connection refused", retryAfterMs: 7000 });
		const { blockingDetail } = await scene.get(id);
		expect(blockingDetail).toContain("connection refused");
		expect(blockingDetail).toContain(new Date(scene.now + 7000).toISOString());
	});

	test("blockingDetail is empty while work runs and after it ended", async (scene) => {
		const { id, fence } = await scene.start();
		expect((await scene.get(id)).blockingDetail).toBe("");
		await scene.backend.leases.complete(id, { fence });
		expect((await scene.get(id)).blockingDetail).toBe("");
	});

	test("delayUntil is shown exactly as long as work is delayed", async (scene) => {
		const id = await scene.create({ delayMs: 1000 });
		expect((await scene.get(id)).delayUntil).toBe(scene.now + 1000);
		await scene.clock.advance(1000);
		expect(await scene.get(id)).not.toHaveProperty("delayUntil");
		const { fence } = await scene.take();
		const delayUntil = scene.now + 300;
		await scene.backend.leases.delay(id, { fence, delayUntil });
		expect((await scene.get(id)).delayUntil).toBe(delayUntil);
		await scene.backend.executions.cancel(id);
		expect(await scene.get(id)).not.toHaveProperty("delayUntil");
	});
}
