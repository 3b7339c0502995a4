import { expect } from "vitest";
import type { SuspendRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";
import { namesOf, suspend, suspended, waitingForSignal } from "../suspended-work.ts";

const after = (ms: number, timeoutBehavior?: SuspendRequest["timeoutBehavior"]) => ({
	timeoutMs: ms,
	...(timeoutBehavior === undefined ? undefined : { timeoutBehavior }),
});

/** What becomes of work that has waited long enough. */
export function suspensionTimeoutCases(test: PublicCase): void {
	test("by default it fails, once and for all", async (scene) => {
		const retry = { backoff: { type: "fixed", delayMs: 1 } } as const;
		const work = await suspended(scene, after(5000), { policy: { retry } });
		await scene.clock.advance(4999);
		expect(await scene.state(work.id)).toEqual(waitingForSignal);
		await scene.clock.advance(1);
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "failed",
			failure: { category: "timeout", reason: "suspension timed out after 5000 ms (waiting_for_signal)" },
			state: { terminalOutcome: "failed", attemptState: "attempt_terminal", ownershipState: "unowned" },
			retries: 0,
			completedAt: scene.now,
		});
		expect(await scene.backend.executions.attempts(work.id)).toMatchObject([
			{ state: "ended_failure", failure: { category: "timeout" } },
		]);
		expect((await scene.events(work.id)).at(-1)).toMatchObject({
			type: "failed",
			category: "timeout",
			actor: "suspension_timeout",
		});
		expect(await refusal(work.send())).toMatchObject({ code: "waitpoint_closed" });
	});

	test("cancel: it is cancelled, by its timeout", async (scene) => {
		const work = await suspended(scene, after(1000, "cancel"));
		await scene.clock.advance(1000);
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "cancelled",
			cancel: { source: "timeout", reason: "suspension timed out after 1000 ms (waiting_for_signal)" },
		});
		expect(await scene.backend.executions.attempts(work.id)).toMatchObject([{ state: "ended_cancelled" }]);
		expect((await scene.events(work.id)).at(-1)).toMatchObject({ type: "cancelled", source: "timeout" });
	});

	test("expire: it is expired", async (scene) => {
		const work = await suspended(scene, after(1000, "expire"));
		await scene.clock.advance(1000);
		expect(await scene.get(work.id)).toMatchObject({ publicState: "expired", failure: { category: "expired" } });
		expect((await scene.events(work.id)).at(-1)).toMatchObject({ type: "expired" });
	});

	test("resume: it goes on with a timeout signal of the system", async (scene) => {
		const work = await suspended(scene, after(1000, "resume"));
		await scene.clock.advance(1000);
		expect(await scene.state(work.id)).toMatchObject({
			publicState: "waiting",
			blockingReason: "waiting_for_worker",
			attemptState: "attempt_interrupted",
		});
		const { signals, attempt } = await scene.take();
		expect(attempt).toMatchObject({ index: 0, type: "initial" });
		expect(signals).toEqual([
			{
				id: expect.stringMatching(/^sg_/),
				name: "timeout",
				source: { type: "system", identity: "suspension_timeout" },
				at: scene.now,
			},
		]);
		expect(await scene.events(work.id)).toMatchObject([{}, {}, {}, { type: "resumed", by: "timeout" }, {}]);
	});

	test("resume: what had counted by then is handed over before the timeout", async (scene) => {
		const condition = { allOf: [{ signal: "a" }, { signal: "b" }] };
		const work = await suspended(scene, { condition, ...after(1000, "resume"), resumeDelayMs: 500 });
		await work.send("b");
		await work.send("x");
		await scene.clock.advance(1000);
		expect((await scene.get(work.id)).publicState).toBe("delayed");
		await scene.clock.advance(500);
		expect(namesOf((await scene.take()).signals)).toEqual(["b", "timeout"]);
	});

	test("escalate: it stays suspended, for an operator to decide, and does not time out again", async (scene) => {
		const work = await suspended(scene, after(1000, "escalate"));
		await scene.clock.advance(1000);
		expect(await scene.state(work.id)).toEqual({ ...waitingForSignal, blockingReason: "paused_by_operator" });
		expect(await scene.get(work.id)).toMatchObject({
			blockingDetail: "waiting_for_signal timed out; an operator is to decide",
			blockedAt: scene.now,
		});
		expect((await scene.events(work.id)).at(-1)).toMatchObject({
			type: "blocked",
			reason: "paused_by_operator",
			suspensionId: work.reply.suspensionId,
		});
		await scene.clock.advance(3_600_000);
		expect((await scene.get(work.id)).publicState).toBe("suspended");
		expect(await scene.backend.waitpoints.resume(work.id)).toMatchObject({ publicState: "waiting" });
	});

	test("escalate: the signal that was waited for still resumes it", async (scene) => {
		const work = await suspended(scene, after(1000, "escalate"));
		await scene.clock.advance(2000);
		expect((await work.send()).effect).toBe("resumed");
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "waiting",
			state: { blockingReason: "waiting_for_worker" },
		});
		expect(namesOf((await scene.take()).signals)).toEqual(["go"]);
	});

	test("what comes in time ends the timeout", async (scene) => {
		const work = await suspended(scene, after(1000));
		await scene.clock.advance(999);
		await work.send();
		await scene.clock.advance(5000);
		expect((await scene.get(work.id)).publicState).toBe("waiting");
	});

	test("a timeout is a time, too", async (scene) => {
		const work = await suspended(scene, { timeoutAt: scene.now + 700 });
		await scene.clock.advance(699);
		expect((await scene.get(work.id)).publicState).toBe("suspended");
		await scene.clock.advance(1);
		expect((await scene.get(work.id)).publicState).toBe("failed");
	});

	test("without a timeout it waits as long as it takes", async (scene) => {
		const work = await suspended(scene);
		await scene.clock.advance(30 * 86_400_000);
		expect((await work.send()).effect).toBe("resumed");
	});

	test("the policy of an execution says what a suspend leaves open", async (scene) => {
		const policy = { suspension: { defaultTimeoutMs: 1000, timeoutBehavior: "expire" } } as const;
		const byPolicy = await suspended(scene, {}, { policy });
		const byCall = await suspended(scene, after(3000, "cancel"), { policy });
		await scene.clock.advance(1000);
		expect((await scene.get(byPolicy.id)).publicState).toBe("expired");
		expect((await scene.get(byCall.id)).publicState).toBe("suspended");
		await scene.clock.advance(2000);
		expect((await scene.get(byCall.id)).publicState).toBe("cancelled");
	});

	test("a behaviour nobody knows is refused", async (scene) => {
		const held = await scene.start();
		expect(await refusal(suspend(scene, held, { timeoutMs: 5, timeoutBehavior: "shrug" as never }))).toMatchObject({
			code: "invalid_input",
			details: { field: "timeoutBehavior" },
		});
		const policy = { suspension: { timeoutBehavior: "shrug" as never } };
		expect(await refusal(scene.create({ policy }))).toMatchObject({ code: "invalid_input" });
	});
}
