import { expect } from "vitest";
import type { FailRequest, Policy } from "../../../src/index.ts";
import type { PublicCase, Scene } from "../scene.ts";

type Retry = NonNullable<Policy["retry"]>;
type Report = Omit<FailRequest, "fence">;

const fixed = { type: "fixed", delayMs: 1000 } as const;

export function retryCases(test: PublicCase): void {
	test("without a retry policy a failure ends the work", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.leases.fail(id, { fence, reason: "broken", category: "net" })).toEqual({
			publicState: "failed",
		});
		expect(await scene.get(id)).toMatchObject({
			publicState: "failed",
			retries: 0,
			failure: { reason: "broken", category: "net" },
			completedAt: scene.now,
		});
	});

	test("retryable true retries without a retry policy too, three times, with the backoff of an empty one", async (scene) => {
		const waits = await failUntilOver(scene, undefined, { retryable: true });
		expect(waits).toHaveLength(3);
		for (const [n, wait] of waits.entries()) {
			expect(wait).toBeGreaterThanOrEqual(500 * 2 ** n);
			expect(wait).toBeLessThanOrEqual(1000 * 2 ** n);
		}
	});

	test("retryable true with retryAfterMs waits that long, without a retry policy too", async (scene) => {
		expect(await failUntilOver(scene, undefined, { retryable: true, retryAfterMs: 70 })).toEqual([70, 70, 70]);
	});

	test("retryable true gives no more retries than the policy", async (scene) => {
		expect(await failUntilOver(scene, { maxRetries: 1, backoff: fixed }, { retryable: true })).toEqual([1000]);
		expect(await failUntilOver(scene, { maxRetries: 0 }, { retryable: true })).toEqual([]);
		expect(await failUntilOver(scene, { nonRetryableCategories: ["error"] }, { retryable: true })).toEqual([]);
	});

	test("category permanent is not retried without a policy either, whatever retryable says", async (scene) => {
		const report = { reason: "broken", category: "permanent", retryable: true };
		expect(await failWith(scene, undefined, report)).toEqual({ publicState: "failed" });
	});

	test("retryAfterMs changes nothing without a retry policy", async (scene) => {
		expect(await failWith(scene, undefined, { reason: "broken", retryAfterMs: 10 })).toEqual({ publicState: "failed" });
	});

	test("an empty retry policy means three retries", async (scene) => {
		expect(await failUntilOver(scene, {})).toHaveLength(3);
	});

	test("maxRetries counts retries, not attempts", async (scene) => {
		expect(await failUntilOver(scene, { maxRetries: 1, backoff: fixed })).toHaveLength(1);
		expect(await failUntilOver(scene, { maxRetries: 5, backoff: fixed })).toHaveLength(5);
	});

	test("maxRetries 0 means no retry", async (scene) => {
		expect(await failUntilOver(scene, { maxRetries: 0 })).toEqual([]);
	});

	test("a fixed backoff waits the same each time", async (scene) => {
		expect(await failUntilOver(scene, { backoff: { type: "fixed", delayMs: 700 } })).toEqual([700, 700, 700]);
	});

	test("a fixed backoff of 0 retries at once", async (scene) => {
		const answer = await failWith(scene, { backoff: { type: "fixed", delayMs: 0 } }, { reason: "broken" });
		expect(answer.retryAt).toBe(scene.now);
		await scene.clock.settle();
		expect(await scene.take({ lanes: ["failing"] })).toMatchObject({ attempt: { index: 1, type: "retry" } });
	});

	test("an exponential backoff without jitter starts at 1 s, doubles and ends at 60 s", async (scene) => {
		const retry: Retry = { maxRetries: 8, backoff: { type: "exponential", jitter: false } };
		expect(await failUntilOver(scene, retry)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
	});

	test("an exponential backoff takes its own start, growth and end", async (scene) => {
		const backoff = { type: "exponential", initialMs: 10, multiplier: 3, maxMs: 200, jitter: false } as const;
		expect(await failUntilOver(scene, { maxRetries: 5, backoff })).toEqual([10, 30, 90, 200, 200]);
	});

	test("an exponential backoff with jitter lies between half and the whole of the wait", async (scene) => {
		const waits = await failUntilOver(scene, { maxRetries: 20, backoff: { type: "exponential", maxMs: 4000 } });
		for (const [n, wait] of waits.entries()) {
			const whole = Math.min(4000, 1000 * 2 ** n);
			expect(wait).toBeGreaterThanOrEqual(whole / 2);
			expect(wait).toBeLessThanOrEqual(whole);
		}
		expect(new Set(waits.slice(2)).size).toBeGreaterThan(1);
	});

	test("a policy without a backoff waits exponentially, with jitter", async (scene) => {
		const waits = await failUntilOver(scene, { maxRetries: 3 });
		for (const [n, wait] of waits.entries()) {
			expect(wait).toBeGreaterThanOrEqual(500 * 2 ** n);
			expect(wait).toBeLessThanOrEqual(1000 * 2 ** n);
		}
	});

	test("category permanent is never retried", async (scene) => {
		const retry = { backoff: fixed, retryableCategories: ["permanent"] };
		for (const report of [{}, { retryable: true }, { retryAfterMs: 10 }]) {
			expect(await failWith(scene, retry, { reason: "broken", category: "permanent", ...report })).toEqual({
				publicState: "failed",
			});
		}
	});

	test("retryable false is never retried", async (scene) => {
		expect(await failWith(scene, { backoff: fixed }, { reason: "broken", retryable: false })).toEqual({
			publicState: "failed",
		});
	});

	test("with retryableCategories only those are retried", async (scene) => {
		const retry = { backoff: fixed, retryableCategories: ["net", "busy"] };
		expect(await failWith(scene, retry, { reason: "x", category: "net" })).toMatchObject({ publicState: "delayed" });
		expect(await failWith(scene, retry, { reason: "x", category: "busy" })).toMatchObject({ publicState: "delayed" });
		expect(await failWith(scene, retry, { reason: "x", category: "bug" })).toEqual({ publicState: "failed" });
		expect(await failWith(scene, retry, { reason: "x" })).toEqual({ publicState: "failed" });
	});

	test("nonRetryableCategories are not retried, all others are", async (scene) => {
		const retry = { backoff: fixed, nonRetryableCategories: ["bug"] };
		expect(await failWith(scene, retry, { reason: "x", category: "bug" })).toEqual({ publicState: "failed" });
		expect(await failWith(scene, retry, { reason: "x", category: "net" })).toMatchObject({ publicState: "delayed" });
		expect(await failWith(scene, retry, { reason: "x" })).toMatchObject({ publicState: "delayed" });
	});

	test("a category on both lists is not retried", async (scene) => {
		const retry = { backoff: fixed, retryableCategories: ["a", "b"], nonRetryableCategories: ["b"] };
		expect(await failWith(scene, retry, { reason: "x", category: "a" })).toMatchObject({ publicState: "delayed" });
		expect(await failWith(scene, retry, { reason: "x", category: "b" })).toEqual({ publicState: "failed" });
	});

	test("retryAfterMs takes the place of the backoff", async (scene) => {
		for (const retryAfterMs of [0, 123_456]) {
			const answer = await failWith(scene, { backoff: fixed }, { reason: "busy", retryAfterMs });
			expect(answer).toEqual({ publicState: "delayed", retryAt: scene.now + retryAfterMs });
		}
	});

	test("retryAfterMs does not give more retries than the policy", async (scene) => {
		const answer = await failWith(scene, { maxRetries: 0 }, { reason: "busy", retryAfterMs: 10 });
		expect(answer).toEqual({ publicState: "failed" });
	});

	test("a retry runs as the next attempt and keeps what the last one left", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: fixed } } });
		await scene.backend.leases.fail(id, { fence, reason: "first" });
		expect(await scene.get(id)).toMatchObject({ retries: 1, failure: { reason: "first", category: "error" } });
		await scene.clock.advance(999);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(1);
		const again = await scene.take();
		expect(again).toMatchObject({ id, attempt: { index: 1, type: "retry" }, lease: { epoch: 2 } });
		await scene.backend.leases.complete(id, { fence: again.fence, result: "done" });
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ index: 0, type: "initial", state: "ended_failure", failure: { reason: "first" } },
			{ index: 1, type: "retry", state: "ended_success" },
		]);
	});

	test("work that succeeded after a retry shows no failure any more", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: fixed } } });
		await scene.backend.leases.fail(id, { fence, reason: "first" });
		await scene.clock.advance(1000);
		const again = await scene.take();
		await scene.backend.leases.complete(id, { fence: again.fence });
		expect(await scene.get(id)).not.toHaveProperty("failure");
	});

	test("a failure without a category is an error", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect((await scene.get(id)).failure).toEqual({ reason: "broken", category: "error" });
	});

	test("the longest reason is kept, whatever its characters, and spoils no other call", async (scene) => {
		// Control characters take six times their room in JSON.
		const long = "\u0001".repeat(2048);
		const { id, fence } = await scene.start({ input: long + long, contentType: "text/plain" });
		await scene.backend.leases.progress(id, { fence, message: long.slice(0, 1024) });
		const bystander = await scene.create({ lane: "elsewhere" });
		const [failed, cancelled] = await Promise.allSettled([
			scene.backend.leases.fail(id, { fence, reason: long }),
			scene.backend.executions.cancel(bystander),
		]);
		expect(cancelled).toMatchObject({ status: "fulfilled", value: { publicState: "cancelled" } });
		expect(failed).toMatchObject({ status: "fulfilled", value: { publicState: "failed" } });
		expect((await scene.get(id)).failure?.reason).toBe(long);
	});

	test("lost leases use up no retries", async (scene) => {
		const { id } = await scene.start({ policy: { retry: { maxRetries: 1, backoff: fixed } } }, { leaseMs: 100 });
		await scene.clock.advance(100);
		const again = await scene.take();
		expect(await scene.backend.leases.fail(id, { fence: again.fence, reason: "x" })).toMatchObject({
			publicState: "delayed",
		});
		expect(await scene.get(id)).toMatchObject({ retries: 1, reclaims: 1 });
	});
}

async function failWith(scene: Scene, retry: Retry | undefined, report: Report) {
	const { id, fence } = await scene.start({ lane: "failing", ...(retry ? { policy: { retry } } : undefined) });
	return scene.backend.leases.fail(id, { fence, ...report });
}

/** Fails until there is no retry any more; returns how long each retry had to wait. */
async function failUntilOver(scene: Scene, retry: Retry | undefined, report: Partial<Report> = {}): Promise<number[]> {
	const waits: number[] = [];
	const id = await scene.create(retry ? { policy: { retry } } : {});
	for (;;) {
		const { fence } = await scene.take();
		const { publicState, retryAt } = await scene.backend.leases.fail(id, { fence, reason: "broken", ...report });
		if (publicState === "failed") return waits;
		const wait = (retryAt ?? Number.NaN) - scene.now;
		expect((await scene.get(id)).delayUntil).toBe(retryAt);
		waits.push(wait);
		await scene.clock.advance(wait);
	}
}
