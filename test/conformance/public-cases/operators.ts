import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

/** What operators do beside cancelling: take leases away, replay, delete. */
export function operatorCases(test: PublicCase): void {
	test("revoking takes the lease away now and tells which", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.executions.revokeLease(id)).toEqual({ revoked: true, ...fence });
		expect(await scene.get(id)).toMatchObject({ publicState: "waiting" });
		expect(await scene.get(id)).not.toHaveProperty("lease");
	});

	test("revoked work runs again as a reclaim attempt", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.revokeLease(id, { reason: "stuck" });
		expect(await scene.take()).toMatchObject({ id, attempt: { index: 1, type: "reclaim" }, lease: { epoch: 2 } });
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ index: 0, state: "interrupted_reclaimed" },
			{ index: 1, state: "started" },
		]);
	});

	test("revoking with the id of the live lease takes it", async (scene) => {
		const { id, fence } = await scene.start();
		expect(await scene.backend.executions.revokeLease(id, { expectedLeaseId: fence.leaseId })).toMatchObject({
			revoked: true,
		});
	});

	test("revoking with the id of another lease is refused as stale_lease", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.release(id, { fence });
		await scene.take();
		const error = await refusal(scene.backend.executions.revokeLease(id, { expectedLeaseId: fence.leaseId }));
		expect(error).toMatchObject({ code: "stale_lease", status: 409 });
		expect((await scene.get(id)).publicState).toBe("active");
	});

	test("revoking where no lease is live changes nothing and says so", async (scene) => {
		const waiting = await scene.create({ lane: "elsewhere" });
		const { id: ended } = await scene.finished();
		for (const id of [waiting, ended]) {
			const before = [await scene.get(id), await scene.events(id)];
			expect(await scene.backend.executions.revokeLease(id)).toEqual({ revoked: false, reason: "no_active_lease" });
			expect([await scene.get(id), await scene.events(id)]).toEqual(before);
		}
	});

	test("replaying runs ended work again as a new attempt", async (scene) => {
		const { id } = await scene.finished();
		expect(await scene.backend.executions.replay(id)).toEqual({ publicState: "waiting", replays: 1 });
		const again = await scene.take();
		expect(again).toMatchObject({ id, attempt: { index: 1, type: "replay" }, lease: { epoch: 2 } });
		await scene.backend.leases.complete(id, { fence: again.fence, result: "second" });
		expect(await scene.ff.result(id)).toBe("second");
	});

	test("replaying keeps the input", async (scene) => {
		const { id } = await scene.finished({ input: { keep: "me" } });
		await scene.backend.executions.replay(id);
		expect(await scene.take()).toMatchObject({ input: { keep: "me" } });
	});

	test("work can be replayed after every kind of end", async (scene) => {
		const failed = await scene.start();
		await scene.backend.leases.fail(failed.id, { fence: failed.fence, reason: "broken" });
		const cancelled = await scene.create();
		await scene.backend.executions.cancel(cancelled, { reason: "wrong" });
		const expired = await scene.create({ policy: { timeouts: { queueMs: 10 } } });
		await scene.clock.advance(10);
		for (const id of [failed.id, cancelled, expired]) {
			await scene.backend.executions.replay(id);
			const { fence } = await scene.take();
			await scene.backend.leases.complete(id, { fence });
			const execution = await scene.get(id);
			expect(execution).toMatchObject({ publicState: "completed", replays: 1 });
			expect(execution).not.toHaveProperty("failure");
			expect(execution).not.toHaveProperty("cancel");
		}
	});

	test("replaying restarts the counters of retries and reclaims", async (scene) => {
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 10 } }, maxReclaims: 1 };
		const { id } = await scene.start({ policy }, { leaseMs: 100 });
		await scene.clock.advance(100);
		for (let n = 0; n < 2; n++) {
			const { fence } = await scene.take();
			await scene.backend.leases.fail(id, { fence, reason: "broken" });
			await scene.clock.advance(10);
		}
		expect(await scene.get(id)).toMatchObject({ publicState: "failed", retries: 1, reclaims: 1 });
		await scene.backend.executions.replay(id);
		expect(await scene.get(id)).toMatchObject({ retries: 0, reclaims: 0, replays: 1 });
		const { fence } = await scene.take();
		expect(await scene.backend.leases.fail(id, { fence, reason: "x" })).toMatchObject({ publicState: "delayed" });
	});

	test("earlier attempts keep their results and failures over a replay", async (scene) => {
		const first = await scene.start();
		await scene.backend.leases.complete(first.id, { fence: first.fence, result: "four" });
		await scene.backend.executions.replay(first.id);
		const second = await scene.take();
		await scene.backend.leases.fail(first.id, { fence: second.fence, reason: "broken" });
		expect(await scene.backend.executions.attempts(first.id)).toMatchObject([
			{ index: 0, type: "initial", state: "ended_success", result: { contentType: "application/json", size: 6 } },
			{ index: 1, type: "replay", state: "ended_failure", failure: { reason: "broken", category: "error" } },
		]);
	});

	test("a result is not ready again while work is replayed", async (scene) => {
		const held = await scene.start();
		await scene.backend.leases.complete(held.id, { fence: held.fence, result: 1 });
		await scene.backend.executions.replay(held.id);
		expect(await scene.get(held.id)).not.toHaveProperty("completedAt");
		expect((await refusal(scene.backend.executions.result(held.id))).code).toBe("result_not_ready");
	});

	test("maxReplays bounds replays, ten by default", async (scene) => {
		for (const [policy, max] of [
			[{}, 10],
			[{ maxReplays: 2 }, 2],
			[{ maxReplays: 0 }, 0],
		] as const) {
			const { id } = await scene.finished({ policy });
			for (let n = 0; n < max; n++) {
				await scene.backend.executions.replay(id);
				const { fence } = await scene.take();
				await scene.backend.leases.complete(id, { fence });
			}
			const error = await refusal(scene.backend.executions.replay(id));
			expect(error).toMatchObject({ code: "max_replays_exhausted", status: 409 });
			expect(await scene.get(id)).toMatchObject({ publicState: "completed", replays: max });
		}
	});

	test("work that has not ended cannot be replayed or deleted", async (scene) => {
		const delayed = await scene.create({ delayMs: 1000 });
		const active = await scene.start();
		const waiting = await scene.create();
		for (const id of [delayed, active.id, waiting]) {
			for (const call of [() => scene.backend.executions.replay(id), () => scene.backend.executions.delete(id)]) {
				expect(await refusal(call())).toMatchObject({ code: "execution_not_terminal", status: 409 });
			}
		}
	});

	test("deleted work leaves no trace", async (scene) => {
		const big = "x".repeat(10_000);
		const { id, fence } = await scene.start({
			input: big,
			policy: { retry: { backoff: { type: "fixed", delayMs: 1 } } },
		});
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		await scene.clock.advance(1);
		const again = await scene.take();
		await scene.backend.leases.complete(id, { fence: again.fence, result: big });
		expect(await scene.backend.executions.delete(id)).toEqual({ deleted: true });
		const { backend } = scene;
		const calls = [
			() => backend.executions.get(id),
			() => backend.executions.input(id),
			() => backend.executions.result(id),
			() => backend.executions.events(id),
			() => backend.executions.attempts(id),
			() => backend.executions.wait(id),
			() => backend.executions.delete(id),
			() => backend.executions.replay(id),
			() => backend.leases.complete(id, { fence: again.fence }),
		];
		for (const call of calls) expect((await refusal(call())).code).toBe("execution_not_found");
		expect(await scene.listed()).toEqual([]);
	});

	test("work with very many attempts is deleted whole", async (scene) => {
		const { id } = await scene.start();
		for (let n = 0; n < 120; n++) {
			await scene.backend.executions.revokeLease(id);
			await scene.take();
		}
		await scene.backend.executions.cancel(id, { mode: "force" });
		expect(await scene.backend.executions.attempts(id)).toHaveLength(121);
		await scene.backend.executions.delete(id);
		expect((await refusal(scene.backend.executions.get(id))).code).toBe("execution_not_found");
		expect((await refusal(scene.backend.executions.attempts(id))).code).toBe("execution_not_found");
		await scene.clock.settle();
		expect(await scene.listed()).toEqual([]);
	});
}
