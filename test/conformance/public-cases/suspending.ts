import { expect } from "vitest";
import { foreignFence, type PublicCase, refusal, unknownId } from "../scene.ts";
import { namesOf, suspend, suspended, wait, waitingForSignal } from "../suspended-work.ts";

/** A holder lets go of its lease until something comes. */
export function suspendingCases(test: PublicCase): void {
	test("suspended work has no lease, and its attempt is suspended", async (scene) => {
		const { id, reply } = await suspended(scene);
		expect(await scene.state(id)).toEqual(waitingForSignal);
		const read = await scene.get(id);
		expect(read).not.toHaveProperty("lease");
		expect(read.attempt).toEqual({ index: 0, type: "initial", state: "suspended" });
		expect(read).toMatchObject({ blockingDetail: "waiting for a signal", blockedAt: scene.now });
		expect(await scene.claim()).toEqual([]);
		expect(reply).toEqual({
			status: "suspended",
			suspensionId: expect.stringMatching(/^su_[0-9a-f]{32}_\d+$/),
			waitpoints: [
				{
					id: expect.stringMatching(/^wp_[0-9a-f]{32}_\d+$/),
					key: "w",
					token: expect.stringMatching(/^k1\.[\w-]{43}$/),
					callbackUrl: `/v1/callbacks/${reply.waitpoints[0]?.id}?token=${reply.waitpoints[0]?.token}`,
				},
			],
		});
	});

	test("what a suspension makes is named after the place of its execution", async (scene) => {
		const { id, reply, at } = await suspended(scene);
		const slotOf = (name = "") => name.slice(name.lastIndexOf("_"));
		expect([slotOf(reply.suspensionId), slotOf(at().id)]).toEqual([slotOf(id), slotOf(id)]);
	});

	test("the events tell of the wait, of what came and of its end, and nothing of tokens and payloads", async (scene) => {
		const work = await suspended(scene, { timeoutMs: 5000 });
		const source = { type: "webhook", identity: "billing" };
		const { signalId } = await work.send("go", { payload: { secret: "s3cret" }, source });
		const events = (await scene.events(work.id)).slice(2);
		const { suspensionId } = work.reply;
		expect(events).toMatchObject([
			{ type: "suspended", suspensionId, reason: "waiting_for_signal", timeoutAt: scene.now + 5000, attempt: 0 },
			{ type: "signalled", signalId, waitpointId: work.at().id, waitpoint: "w", name: "go", effect: "resumed", source },
			{ type: "resumed", suspensionId, by: "satisfied" },
		]);
		const text = JSON.stringify(events);
		expect(text).not.toContain("s3cret");
		expect(text).not.toContain(work.at().token.slice(3));
	});

	const reasons = {
		waiting_for_signal: "waiting_for_signal",
		waiting_for_approval: "waiting_for_approval",
		waiting_for_callback: "waiting_for_callback",
		waiting_for_tool_result: "waiting_for_tool_result",
		waiting_for_operator_review: "waiting_for_approval",
		paused_by_policy: "paused_by_policy",
		paused_by_budget: "waiting_for_budget",
		step_boundary: "waiting_for_signal",
		manual_pause: "paused_by_operator",
	} as const;
	test("every reason to suspend shows as a reason to be blocked", async (scene) => {
		for (const [reason, blockingReason] of Object.entries(reasons)) {
			const { id } = await suspended(scene, { reason: reason as keyof typeof reasons });
			expect(await scene.state(id)).toEqual({ ...waitingForSignal, blockingReason });
		}
		const { executions } = await scene.backend.executions.list({ state: "suspended" });
		expect(executions).toHaveLength(Object.keys(reasons).length);
	});

	test("a reason nobody knows is refused", async (scene) => {
		const held = await scene.start();
		expect(await refusal(suspend(scene, held, { reason: "tired" as never }))).toMatchObject({
			code: "invalid_input",
			details: { field: "reason" },
		});
	});

	test("the words for why it waits say until when", async (scene) => {
		const { id } = await suspended(scene, { reason: "waiting_for_approval", timeoutMs: 60_000 });
		const until = new Date(scene.now + 60_000).toISOString();
		expect((await scene.get(id)).blockingDetail).toBe(`waiting for approval until ${until}`);
		expect(await scene.backend.executions.explain(id)).toMatchObject({
			summary: `waiting for approval until ${until}`,
		});
	});

	test("said again with the same fence it is the first answer, and changes nothing", async (scene) => {
		const work = await suspended(scene);
		const before = await scene.get(work.id);
		expect(await suspend(scene, work.held)).toEqual(work.reply);
		expect(await suspend(scene, work.held, { reason: "manual_pause" })).toEqual(work.reply);
		expect(await scene.get(work.id)).toEqual(before);
		expect(await scene.eventTypes(work.id)).toEqual(["created", "claimed", "suspended"]);
	});

	test("the first answer is given again when it has been resumed meanwhile, but not once a later lease is over", async (scene) => {
		const work = await suspended(scene);
		await work.send();
		expect(await suspend(scene, work.held)).toEqual(work.reply);
		expect((await scene.get(work.id)).publicState).toBe("waiting");
		const later = await scene.take();
		expect(await suspend(scene, work.held)).toEqual(work.reply);
		await wait(scene, later, { waitpoints: [{ key: "other" }] });
		expect(await refusal(suspend(scene, work.held))).toMatchObject({ code: "stale_lease" });
	});

	test("the holder that suspended it can do nothing else with its fence", async (scene) => {
		const { id, held } = await suspended(scene);
		const { leases } = scene.backend;
		const { fence } = held;
		const calls = [
			() => leases.complete(id, { fence, result: 1 }),
			() => leases.fail(id, { fence, reason: "x" }),
			() => leases.delay(id, { fence, delayMs: 5 }),
			() => leases.release(id, { fence }),
			() => leases.progress(id, { fence, percent: 5 }),
			() => leases.createWaitpoint(id, { fence, key: "late" }),
		];
		for (const call of calls) {
			expect(await refusal(call())).toMatchObject({
				code: "execution_not_active",
				details: { publicState: "suspended", outcome: "none", epoch: 1, attempt: 0 },
			});
		}
		const [renewed] = await leases.renew({ leases: [{ executionId: id, ...fence }] });
		expect(renewed).toMatchObject({ ok: false, error: { code: "execution_not_active" } });
		expect((await scene.get(id)).publicState).toBe("suspended");
	});

	test("only the holder suspends", async (scene) => {
		const held = await scene.start();
		const condition = { signal: "go" };
		const asked = { reason: "waiting_for_signal", condition, waitpoints: [{ key: "w" }] } as const;
		const { leases } = scene.backend;
		expect(await refusal(leases.suspend(held.id, { ...asked, waitpoints: [{ key: "w" }] }))).toMatchObject({
			code: "fence_required",
		});
		expect(await refusal(suspend(scene, { ...held, fence: foreignFence }))).toMatchObject({ code: "stale_lease" });
		expect(await refusal(suspend(scene, { ...held, id: unknownId }))).toMatchObject({ code: "execution_not_found" });
		await scene.backend.executions.revokeLease(held.id);
		expect(await refusal(suspend(scene, held))).toMatchObject({ code: "lease_revoked" });
		expect(await scene.eventTypes(held.id)).toEqual(["created", "claimed", "lease_revoked"]);
	});

	test("a lease that lapsed cannot be let go of", async (scene) => {
		const held = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(1000);
		expect(await refusal(suspend(scene, held))).toMatchObject({ code: "lease_expired" });
	});

	test("the fence is asked before what is to be waited for", async (scene) => {
		const held = await scene.start();
		const bad = { condition: { allOf: [] } };
		expect(await refusal(suspend(scene, { ...held, fence: foreignFence }, bad))).toMatchObject({ code: "stale_lease" });
		expect(await refusal(suspend(scene, held, bad))).toMatchObject({ code: "all_of_empty" });
	});

	test("fields a suspend does not have are refused by name", async (scene) => {
		const held = await scene.start();
		expect(await refusal(suspend(scene, held, { untilMs: 5 } as never))).toMatchObject({
			code: "invalid_input",
			message: expect.stringContaining("untilMs"),
		});
	});

	test("the same key under a later lease is answered at once with the signals of then, and the lease is kept", async (scene) => {
		const work = await suspended(scene, { idempotencyKey: "step-1" });
		await work.send("go", { payload: { yes: true } });
		const later = await scene.take();
		const again = await suspend(scene, later, { idempotencyKey: "step-1" });
		expect(again).toMatchObject({ status: "already_satisfied", suspensionId: work.reply.suspensionId });
		expect(again.signals).toMatchObject([{ name: "go", payload: { yes: true } }]);
		expect((await scene.get(work.id)).lease?.id).toBe(later.lease.id);
		// Also after a crash, and whatever is asked for under that key.
		await scene.clock.advance(31_000);
		const last = await scene.take();
		const third = await suspend(scene, last, { idempotencyKey: "step-1", condition: { signal: "other" } });
		expect(third).toMatchObject({ status: "already_satisfied", signals: [{ name: "go" }] });
		expect(await scene.backend.leases.complete(work.id, { fence: last.fence })).toEqual({ publicState: "completed" });
	});

	test("what was answered at once under a key is answered so again, after another suspend and even after a replay", async (scene) => {
		const { executions } = scene.backend;
		const work = await suspended(scene, { idempotencyKey: "step-1" });
		await work.send("go", { payload: 1 });
		const later = await scene.take();
		const { suspensionId } = work.reply;
		const first = { status: "already_satisfied", suspensionId, signals: [{ name: "go", payload: 1 }] };
		expect(await suspend(scene, later, { idempotencyKey: "step-1" })).toMatchObject(first);
		await wait(scene, later, { waitpoints: [{ key: "other" }] });
		expect(await suspend(scene, later, { idempotencyKey: "step-1" })).toMatchObject(first);
		await executions.cancel(work.id, { mode: "force" });
		await executions.replay(work.id);
		expect(await suspend(scene, later, { idempotencyKey: "step-1" })).toMatchObject(first);
	});

	test("a suspend that comes late is told what ended its lease, and the same again once that is over", async (scene) => {
		const work = await suspended(scene, { idempotencyKey: "step-1" });
		const late = () => suspend(scene, work.held, { idempotencyKey: "step-1", reason: "manual_pause" });
		const told = { status: "suspended", suspensionId: work.reply.suspensionId };
		expect(await late()).toMatchObject(told);
		await work.send();
		expect(await late()).toMatchObject(told);
	});

	test("under a key that was resumed by hand there are no signals", async (scene) => {
		const { id } = await suspended(scene, { idempotencyKey: "step-1" });
		await scene.backend.waitpoints.resume(id);
		const again = await suspend(scene, await scene.take(), { idempotencyKey: "step-1" });
		expect(again).toMatchObject({ status: "already_satisfied", signals: [] });
	});

	test("another key, or none, waits anew", async (scene) => {
		const first = await suspended(scene, { idempotencyKey: "step-1" });
		await first.send();
		const second = await wait(scene, await scene.take(), { idempotencyKey: "step-2" });
		expect(second.reply.suspensionId).not.toBe(first.reply.suspensionId);
		await second.send();
		const third = await wait(scene, await scene.take());
		await third.send();
		// A key of before still stands for what was waited for then.
		const again = await suspend(scene, await scene.take(), { idempotencyKey: "step-2" });
		expect(again.suspensionId).toBe(second.reply.suspensionId);
	});

	test("an empty key is none", async (scene) => {
		const first = await suspended(scene, { idempotencyKey: "" });
		await first.send();
		const second = await wait(scene, await scene.take(), { idempotencyKey: "" });
		expect(second.at().id).not.toBe(first.at().id);
	});

	test("claims carry the signals of the last suspension until the next suspend", async (scene) => {
		const retry = { backoff: { type: "fixed", delayMs: 1 } } as const;
		const fresh = await scene.start({ policy: { retry } });
		expect(fresh.signals).toEqual([]);
		const first = await wait(scene, fresh);
		await first.send("go", { payload: 1 });
		const resumed = await scene.take();
		expect(resumed.signals).toMatchObject([{ name: "go", payload: 1, waitpoint: "w", at: scene.now }]);
		// Over a crash, a hand-back and a retry.
		await scene.clock.advance(31_000);
		const reclaimed = await scene.take();
		expect(reclaimed).toMatchObject({ attempt: { type: "reclaim" }, signals: [{ payload: 1 }] });
		await scene.backend.leases.release(first.id, { fence: reclaimed.fence });
		const released = await scene.take();
		expect(namesOf(released.signals)).toEqual(["go"]);
		await scene.backend.leases.fail(first.id, { fence: released.fence, reason: "x" });
		await scene.clock.advance(1);
		const retried = await scene.take();
		expect(retried).toMatchObject({ attempt: { type: "retry" }, signals: [{ payload: 1 }] });
		await wait(scene, retried);
		await scene.backend.waitpoints.resume(first.id);
		expect((await scene.take()).signals).toEqual([]);
	});

	test("resumed work goes on in the same attempt with the next claim", async (scene) => {
		const work = await suspended(scene);
		await work.send();
		expect(await scene.state(work.id)).toEqual({
			publicState: "waiting",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "eligible_now",
			blockingReason: "waiting_for_worker",
			terminalOutcome: "none",
			attemptState: "attempt_interrupted",
		});
		const resumed = await scene.take();
		expect(resumed).toMatchObject({ attempt: { index: 0, type: "initial" }, lease: { epoch: 2 } });
		await scene.backend.leases.complete(work.id, { fence: resumed.fence, result: 7 });
		expect(await scene.backend.executions.attempts(work.id)).toMatchObject([{ index: 0, state: "ended_success" }]);
		expect(await scene.get(work.id)).toMatchObject({ reclaims: 0, retries: 0 });
	});

	test("a waiting claim is given what is resumed at once", async (scene) => {
		const work = await suspended(scene);
		const waiting = scene.claim({ waitMs: 10_000 });
		await scene.clock.advance(100);
		await work.send();
		await scene.clock.advance(10);
		expect((await waiting).map(({ id }) => id)).toEqual([work.id]);
	});

	test("a delay of the resume keeps it back for so long", async (scene) => {
		const work = await suspended(scene, { resumeDelayMs: 5000 });
		await work.send();
		expect(await scene.state(work.id)).toMatchObject({
			publicState: "delayed",
			lifecyclePhase: "runnable",
			eligibilityState: "not_eligible_until_time",
			blockingReason: "waiting_for_resume_delay",
			attemptState: "attempt_interrupted",
		});
		const until = scene.now + 5000;
		expect(await scene.get(work.id)).toMatchObject({
			delayUntil: until,
			blockingDetail: `resumes at ${new Date(until).toISOString()}`,
		});
		await scene.clock.advance(4999);
		expect(await scene.claim()).toEqual([]);
		await scene.clock.advance(1);
		expect(namesOf((await scene.take()).signals)).toEqual(["go"]);
	});

	test("time spent waiting is no time of the attempt, but counts for the deadline", async (scene) => {
		const policy = { timeouts: { attemptMs: 10_000, deadlineMs: 100_000 } };
		const work = await suspended(scene, {}, { policy });
		await scene.clock.advance(60_000);
		await work.send();
		await scene.take({ leaseMs: 60_000 });
		await scene.clock.advance(9000);
		expect((await scene.get(work.id)).publicState).toBe("active");
		await scene.clock.advance(1000);
		expect(await scene.get(work.id)).toMatchObject({ publicState: "failed", failure: { category: "timeout" } });
	});

	test("time spent waiting is no time in the queue", async (scene) => {
		const work = await suspended(scene, {}, { policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(60_000);
		await work.send();
		await scene.clock.advance(999);
		expect((await scene.get(work.id)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect((await scene.get(work.id)).publicState).toBe("expired");
	});

	test("work that was to be cancelled is cancelled when its holder suspends it", async (scene) => {
		const held = await scene.start();
		await scene.backend.executions.cancel(held.id, { reason: "enough" });
		expect(await suspend(scene, held)).toEqual({ status: "cancelled", waitpoints: [] });
		expect(await scene.get(held.id)).toMatchObject({ publicState: "cancelled", cancel: { reason: "enough" } });
		expect(await suspend(scene, held)).toEqual({ status: "cancelled", waitpoints: [] });
	});

	test("suspended work can be given another priority and other tags, and has no lease to revoke", async (scene) => {
		const work = await suspended(scene);
		const { executions } = scene.backend;
		expect(await executions.changePriority(work.id, { priority: 7 })).toMatchObject({ publicState: "suspended" });
		expect(await executions.setTags(work.id, { set: { team: "a" } })).toEqual({ tags: { team: "a" } });
		expect(await executions.revokeLease(work.id)).toEqual({ revoked: false, reason: "no_active_lease" });
		expect(await scene.get(work.id)).toMatchObject({ publicState: "suspended", priority: 7, tags: { team: "a" } });
		await work.send();
		expect((await scene.take()).id).toBe(work.id);
	});

	test("a result is not ready while it waits, and a wait for its end goes on", async (scene) => {
		const work = await suspended(scene);
		expect(await refusal(scene.backend.executions.result(work.id))).toMatchObject({ code: "result_not_ready" });
		const ended = scene.backend.executions.wait(work.id, { timeoutMs: 10_000 });
		await work.send();
		const { fence } = await scene.take();
		await scene.backend.leases.complete(work.id, { fence, result: "done" });
		await scene.clock.advance(100);
		expect((await ended).publicState).toBe("completed");
	});

	test("an operator lets it go on, whatever it waits for", async (scene) => {
		const work = await suspended(scene, { condition: { operatorOnly: true }, waitpoints: [] });
		const { suspensionId } = work.reply;
		expect(await scene.backend.waitpoints.resume(work.id, { reason: "looks fine" })).toEqual({
			publicState: "waiting",
			suspensionId,
		});
		expect((await scene.events(work.id)).at(-1)).toMatchObject({
			type: "resumed",
			suspensionId,
			by: "resumed",
			reason: "looks fine",
			actor: "local",
		});
		expect(await scene.take()).toMatchObject({ attempt: { index: 0 }, signals: [] });
	});

	test("work resumed by hand is given the signals that had counted, and keeps to the delay", async (scene) => {
		const condition = { allOf: [{ signal: "a" }, { signal: "b" }] };
		const work = await suspended(scene, { condition, resumeDelayMs: 1000 });
		await work.send("a");
		await work.send("nobody asked");
		expect(await scene.backend.waitpoints.resume(work.id)).toMatchObject({ publicState: "delayed" });
		await scene.clock.advance(1000);
		expect(namesOf((await scene.take()).signals)).toEqual(["a"]);
	});

	test("only what is suspended can be resumed", async (scene) => {
		const { waitpoints } = scene.backend;
		expect(await refusal(waitpoints.resume(unknownId))).toMatchObject({ code: "execution_not_found" });
		const { id, fence } = await scene.start();
		expect(await refusal(waitpoints.resume(id))).toMatchObject({
			code: "execution_not_suspended",
			status: 409,
			details: { publicState: "active" },
		});
		await scene.backend.leases.complete(id, { fence });
		expect(await refusal(waitpoints.resume(id))).toMatchObject({ details: { publicState: "completed" } });
	});

	test("it may suspend as often as it likes, each time for something of its own", async (scene) => {
		let held = await scene.start();
		for (let n = 0; n < 5; n++) {
			const work = await wait(scene, held, { condition: { signal: `go-${n}` }, waitpoints: [{ key: `w-${n}` }] });
			await work.send(`go-${n}`, { payload: n });
			held = await scene.take();
			expect(held.signals).toMatchObject([{ name: `go-${n}`, payload: n, waitpoint: `w-${n}` }]);
		}
		expect(held.lease.epoch).toBe(6);
	});
}
