import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";
import { namesOf, suspend, suspended, wait } from "../suspended-work.ts";

const statesOf = async (scene: Scene, id: string) =>
	(await scene.backend.waitpoints.list(id, { all: true })).waitpoints.map(({ key, state }) => `${key} ${state}`);

/** Suspended work that ends without having been resumed, and what a replay makes of it. */
export function suspendedEndCases(test: PublicCase): void {
	test("suspended work is cancelled at once", async (scene) => {
		const work = await suspended(scene);
		expect(await scene.backend.executions.cancel(work.id, { reason: "enough" })).toEqual({ publicState: "cancelled" });
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "cancelled",
			cancel: { reason: "enough", source: "operator" },
			state: { attemptState: "attempt_terminal" },
		});
		expect(await scene.backend.executions.attempts(work.id)).toMatchObject([{ state: "ended_cancelled" }]);
		expect(await statesOf(scene, work.id)).toEqual(["w closed"]);
		expect(await refusal(work.send())).toMatchObject({ code: "waitpoint_closed" });
		expect(await refusal(scene.backend.waitpoints.resume(work.id))).toMatchObject({
			code: "execution_not_suspended",
			details: { publicState: "cancelled" },
		});
	});

	test("the holder that suspended it is told the first answer also when it was cancelled meanwhile", async (scene) => {
		const work = await suspended(scene);
		await scene.backend.executions.cancel(work.id);
		expect(await suspend(scene, work.held)).toEqual(work.reply);
	});

	test("the deadline ends suspended work", async (scene) => {
		const work = await suspended(scene, {}, { policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(1000);
		expect(await scene.get(work.id)).toMatchObject({
			publicState: "expired",
			failure: { reason: "deadline exceeded" },
		});
		expect(await refusal(work.send())).toMatchObject({ code: "waitpoint_closed" });
	});

	test("the deadline comes before a timeout of the same moment that would let it go on", async (scene) => {
		const timeout = { timeoutMs: 1000, timeoutBehavior: "resume" } as const;
		const work = await suspended(scene, timeout, { policy: { timeouts: { deadlineMs: 1000 } } });
		await scene.clock.advance(1000);
		expect((await scene.get(work.id)).publicState).toBe("expired");
	});

	test("suspended work cannot be deleted or replayed before it has ended", async (scene) => {
		const work = await suspended(scene);
		const { executions } = scene.backend;
		expect(await refusal(executions.delete(work.id))).toMatchObject({ code: "execution_not_terminal" });
		expect(await refusal(executions.replay(work.id))).toMatchObject({ code: "execution_not_terminal" });
	});

	test("deleted work leaves no trace of what it waited for: its token is like any wrong one", async (scene) => {
		const work = await suspended(scene, {}, { idempotencyKey: "once" });
		await work.send("noise", { payload: "x".repeat(50_000), idempotencyKey: "k" });
		await work.send("go", { idempotencyKey: "go" });
		const { fence } = await scene.take();
		await scene.backend.leases.complete(work.id, { fence });
		await scene.backend.executions.delete(work.id);
		await scene.clock.advance(100);
		expect(await refusal(work.send("go", { idempotencyKey: "go" }))).toMatchObject({ code: "invalid_token" });
		expect(await refusal(scene.backend.waitpoints.list(work.id))).toMatchObject({ code: "execution_not_found" });
	});

	test("what is no longer kept takes its waitpoints with it, however many there were", async (scene) => {
		const held = await scene.start({ policy: { retentionMs: 1000 } }, { leaseMs: 600_000 });
		for (let n = 0; n < 150; n++)
			await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: `w-${n}` });
		const work = await wait(scene, held, { waitpoints: [{ key: "w-0" }] });
		for (let n = 0; n < 150; n++) await work.send("noise");
		await work.send();
		const { fence } = await scene.take();
		await scene.backend.leases.complete(held.id, { fence });
		await scene.clock.advance(2000);
		expect(await refusal(scene.get(held.id))).toMatchObject({ code: "execution_not_found" });
		expect(await refusal(work.send())).toMatchObject({ code: "invalid_token" });
	});

	test("bulk cancel ends suspended work too", async (scene) => {
		const work = await suspended(scene);
		const done = await scene.backend.executions.bulk({ filter: { state: "suspended" }, action: "cancel" });
		expect(done.done).toBe(1);
		expect((await scene.get(work.id)).publicState).toBe("cancelled");
	});

	test("a worker that crashes after it was resumed finds the same signals, and its early waitpoints", async (scene) => {
		const held = await scene.start();
		const { created: _, ...early } = await scene.backend.leases.createWaitpoint(held.id, {
			fence: held.fence,
			key: "later",
		});
		const work = await wait(scene, held);
		await work.send("go", { payload: 1 });
		await scene.take();
		await scene.clock.advance(31_000);
		const reclaimed = await scene.take();
		expect(reclaimed).toMatchObject({ attempt: { index: 1, type: "reclaim" }, signals: [{ payload: 1 }] });
		const again = await wait(scene, reclaimed, { waitpoints: [{ key: "later" }] });
		expect(again.at()).toEqual(early);
	});

	test("a replay begins without waitpoints and signals; what was waited for is waited for again", async (scene) => {
		const work = await suspended(scene, { idempotencyKey: "step" });
		await work.send("go", { payload: 1, idempotencyKey: "k" });
		const { fence } = await scene.take();
		await scene.backend.leases.complete(work.id, { fence });
		await scene.backend.executions.replay(work.id);
		const replayed = await scene.take();
		expect(replayed).toMatchObject({ attempt: { index: 1, type: "replay" }, signals: [] });
		const again = await wait(scene, replayed, { idempotencyKey: "step" });
		expect(again.at().id).not.toBe(work.at().id);
		expect(await refusal(work.send("go"))).toMatchObject({ code: "waitpoint_closed" });
		expect(await again.send("go", { payload: 2, idempotencyKey: "k" })).toMatchObject({ effect: "resumed" });
		expect((await scene.take()).signals).toMatchObject([{ payload: 2 }]);
	});

	test("a replay closes early waitpoints of before", async (scene) => {
		const held = await scene.start();
		const early = await scene.backend.leases.createWaitpoint(held.id, { fence: held.fence, key: "w" });
		await scene.backend.waitpoints.signal(held.id, { waitpointId: early.id, token: early.token, name: "go" });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.executions.replay(held.id);
		expect(await statesOf(scene, held.id)).toEqual(["w closed"]);
		const again = await wait(scene, await scene.take());
		expect(again.at().id).not.toBe(early.id);
	});

	test("the signals of a replay are counted anew against the limit", async (scene) => {
		const work = await suspended(scene, {}, { policy: { maxSignals: 1 } });
		await work.send();
		const { fence } = await scene.take();
		await scene.backend.leases.complete(work.id, { fence });
		await scene.backend.executions.replay(work.id);
		const again = await wait(scene, await scene.take());
		expect((await again.send()).effect).toBe("resumed");
	});

	test("a replay that keeps steps opens again what the end had closed, with what had come", async (scene) => {
		const condition = { allOf: [{ signal: "a" }, { signal: "b" }] };
		const work = await suspended(scene, { condition, idempotencyKey: "step" });
		await work.send("a", { payload: 1 });
		await scene.backend.executions.cancel(work.id);
		expect(await statesOf(scene, work.id)).toEqual(["w closed"]);
		await scene.backend.executions.replay(work.id, { keepSteps: true });
		expect(await statesOf(scene, work.id)).toEqual(["w pending"]);
		expect((await work.send("b", { payload: 2 })).effect).toBe("buffered");
		// The wait that was cut off is no wait that is over: it is waited again, at the same waitpoint.
		const again = await suspend(scene, await scene.take(), { condition, idempotencyKey: "step" });
		expect(again.waitpoints).toEqual(work.reply.waitpoints);
		expect(again).toMatchObject({ status: "already_satisfied", signals: [{ payload: 1 }, { payload: 2 }] });
		expect(again.suspensionId).not.toBe(work.reply.suspensionId);
	});

	test("a replay that keeps steps does not wait again for what was satisfied", async (scene) => {
		const work = await suspended(scene, { idempotencyKey: "step" });
		await work.send("go", { payload: 1 });
		const { fence } = await scene.take();
		await scene.backend.leases.fail(work.id, { fence, reason: "later" });
		await scene.backend.executions.replay(work.id, { keepSteps: true });
		const replayed = await scene.take();
		expect(namesOf(replayed.signals)).toEqual(["go"]);
		expect(await suspend(scene, replayed, { idempotencyKey: "step" })).toMatchObject({
			status: "already_satisfied",
			suspensionId: work.reply.suspensionId,
			signals: [{ payload: 1 }],
		});
	});

	test("a replay that keeps steps waits again for what had timed out, at a new waitpoint", async (scene) => {
		const work = await suspended(scene, { idempotencyKey: "step", timeoutMs: 10 });
		await scene.clock.advance(10);
		expect((await scene.get(work.id)).publicState).toBe("failed");
		await scene.backend.executions.replay(work.id, { keepSteps: true });
		const again = await wait(scene, await scene.take(), { idempotencyKey: "step" });
		expect(again.at().id).not.toBe(work.at().id);
		expect(await refusal(work.send())).toMatchObject({ code: "waitpoint_closed" });
		expect((await again.send()).effect).toBe("resumed");
	});
}
