import { expect } from "vitest";
import type { Held, PublicCase, Scene } from "../scene.ts";
import { foreignFence, refusal } from "../scene.ts";

export function cancelCases(test: PublicCase): void {
	test("waiting work is cancelled at once", async (scene) => {
		const id = await scene.create();
		expect(await scene.backend.executions.cancel(id)).toEqual({ publicState: "cancelled" });
		expect(await scene.get(id)).toMatchObject({ publicState: "cancelled", completedAt: scene.now });
		expect(await scene.claim()).toEqual([]);
	});

	test("delayed work is cancelled at once and does not come back", async (scene) => {
		const id = await scene.create({ delayMs: 1000 });
		expect(await scene.backend.executions.cancel(id)).toEqual({ publicState: "cancelled" });
		await scene.clock.advance(2000);
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("work between two attempts is cancelled at once", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: {} } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		expect(await scene.backend.executions.cancel(id)).toEqual({ publicState: "cancelled" });
		await scene.clock.advance(60_000);
		expect(await scene.claim()).toEqual([]);
	});

	test("reason and source of a cancel are kept and shown", async (scene) => {
		const id = await scene.create();
		await scene.backend.executions.cancel(id, { reason: "no longer wanted" });
		expect((await scene.get(id)).cancel).toEqual({
			reason: "no longer wanted",
			source: "operator",
			requestedAt: scene.now,
		});
	});

	test("active work is asked first, and its holder has 30 seconds", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 60_000 });
		expect(await scene.backend.executions.cancel(id)).toEqual({ publicState: "active", cancelRequested: true });
		expect((await scene.get(id)).cancel).toMatchObject({ source: "operator", deadlineAt: scene.now + 30_000 });
		await scene.clock.advance(29_999);
		expect((await scene.get(id)).publicState).toBe("active");
		await scene.clock.advance(1);
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("a cancel may set its own grace", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.cancel(id, { graceMs: 500 });
		await scene.clock.advance(500);
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("a grace of 0 ends at once", async (scene) => {
		const { id } = await scene.start();
		await scene.backend.executions.cancel(id, { graceMs: 0 });
		await scene.clock.settle();
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("success stands although a cancel was asked for", async (scene) => {
		const { id, fence } = await asked(scene);
		expect(await scene.backend.leases.complete(id, { fence, result: "made it" })).toEqual({ publicState: "completed" });
		expect(await scene.ff.result(id)).toBe("made it");
		await scene.clock.advance(60_000);
		expect((await scene.get(id)).publicState).toBe("completed");
	});

	const becomesCancelled: Record<string, (scene: Scene, held: Held) => Promise<unknown>> = {
		"its fail": (scene, { id, fence }) => scene.backend.leases.fail(id, { fence, reason: "broken" }),
		"its delay": (scene, { id, fence }) => scene.backend.leases.delay(id, { fence, delayMs: 1000 }),
		"its release": (scene, { id, fence }) => scene.backend.leases.release(id, { fence }),
	};
	for (const [what, act] of Object.entries(becomesCancelled)) {
		test(`${what} makes work that was asked to cancel cancelled`, async (scene) => {
			const held = await asked(scene);
			expect(await act(scene, held)).toEqual({ publicState: "cancelled" });
			const execution = await scene.get(held.id);
			expect(execution).toMatchObject({ publicState: "cancelled", cancel: { reason: "enough" }, retries: 0 });
			expect(execution).not.toHaveProperty("failure");
			expect(await act(scene, held)).toEqual({ publicState: "cancelled" });
			await scene.clock.advance(60_000);
			expect(await scene.claim()).toEqual([]);
		});
	}

	test("the loss of its lease makes work that was asked to cancel cancelled", async (scene) => {
		const held = await asked(scene);
		await scene.clock.advance(5000);
		expect(await scene.get(held.id)).toMatchObject({ publicState: "cancelled", reclaims: 0 });
		expect((await refusal(scene.backend.leases.complete(held.id, { fence: held.fence }))).code).toBe("lease_expired");
	});

	test("revoking the lease of work that was asked to cancel makes it cancelled", async (scene) => {
		const held = await asked(scene);
		await scene.backend.executions.revokeLease(held.id);
		expect((await scene.get(held.id)).publicState).toBe("cancelled");
	});

	test("force cancels active work at once", async (scene) => {
		const { id } = await scene.start();
		expect(await scene.backend.executions.cancel(id, { mode: "force", reason: "now" })).toEqual({
			publicState: "cancelled",
		});
		expect(await scene.get(id)).toMatchObject({
			publicState: "cancelled",
			cancel: { reason: "now", source: "operator" },
		});
		expect(await scene.get(id)).not.toHaveProperty("lease");
		expect(await scene.backend.executions.attempts(id)).toMatchObject([
			{ index: 0, state: "ended_cancelled", endedAt: scene.now },
		]);
	});

	test("force ends the grace of an earlier cancel", async (scene) => {
		const { id } = await asked(scene);
		expect(await scene.backend.executions.cancel(id, { mode: "force" })).toEqual({ publicState: "cancelled" });
		expect((await scene.get(id)).publicState).toBe("cancelled");
	});

	test("a cancel repeated within the grace changes nothing", async (scene) => {
		const { id } = await asked(scene);
		const before = [await scene.get(id), await scene.events(id)];
		await scene.clock.advance(1000);
		expect(await scene.backend.executions.cancel(id, { reason: "other" })).toEqual({
			publicState: "active",
			cancelRequested: true,
		});
		expect([await scene.get(id), await scene.events(id)]).toEqual(before);
	});

	test("cancelling cancelled work answers as before and changes nothing", async (scene) => {
		const id = await scene.create();
		await scene.backend.executions.cancel(id, { reason: "first" });
		const before = [await scene.get(id), await scene.events(id)];
		await scene.clock.advance(1000);
		for (const mode of ["graceful", "force"] as const) {
			expect(await scene.backend.executions.cancel(id, { mode, reason: "second" })).toEqual({
				publicState: "cancelled",
			});
		}
		expect([await scene.get(id), await scene.events(id)]).toEqual(before);
	});

	test("cancelling work that ended otherwise is refused, telling its outcome", async (scene) => {
		const failed = await scene.start();
		await scene.backend.leases.fail(failed.id, { fence: failed.fence, reason: "broken" });
		const expired = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(1000);
		const completed = await scene.finished();
		for (const [id, outcome] of [
			[completed.id, "success"],
			[failed.id, "failed"],
			[expired, "expired"],
		] as const) {
			for (const mode of ["graceful", "force"] as const) {
				expect(await refusal(scene.backend.executions.cancel(id, { mode }))).toMatchObject({
					code: "execution_not_active",
					status: 409,
					details: { outcome },
				});
			}
		}
	});

	test("the holder may cancel its own work, at once", async (scene) => {
		const { id, fence } = await scene.start();
		const request = { fence, reason: "user hung up" };
		expect(await scene.backend.executions.cancel(id, request)).toEqual({ publicState: "cancelled" });
		expect(await scene.get(id)).toMatchObject({
			publicState: "cancelled",
			cancel: { reason: "user hung up", source: "holder" },
		});
		expect(await scene.backend.executions.cancel(id, request)).toEqual({ publicState: "cancelled" });
	});

	test("only the live holder may cancel with a fence", async (scene) => {
		const { id, fence } = await scene.start();
		expect((await refusal(scene.backend.executions.cancel(id, { fence: foreignFence }))).code).toBe("stale_lease");
		await scene.backend.leases.release(id, { fence });
		expect((await refusal(scene.backend.executions.cancel(id, { fence }))).code).toBe("execution_not_active");
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("cancelled work is not failed and not retried", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: {} } });
		await scene.backend.executions.cancel(id);
		await scene.backend.leases.fail(id, { fence, reason: "aborted" });
		expect(await scene.get(id)).toMatchObject({ publicState: "cancelled", retries: 0 });
		expect(await scene.eventTypes(id)).toEqual(["created", "claimed", "cancel_requested", "cancelled"]);
	});

	test(
		"the history of a cancel names who asked, why, and the end of the grace",
		async (scene) => {
			const { id } = await scene.start({}, { leaseMs: 60_000 });
			const deadlineAt = scene.now + 700;
			await scene.backend.executions.cancel(id, { reason: "enough", graceMs: 700 });
			await scene.clock.advance(700);
			expect((await scene.events(id)).slice(2)).toMatchObject([
				{ type: "cancel_requested", actor: "ops", source: "operator", reason: "enough", deadlineAt },
				{ type: "cancelled", source: "operator", reason: "enough", at: deadlineAt },
			]);
			expect((await scene.get(id)).cancel).toEqual({
				reason: "enough",
				source: "operator",
				requestedAt: deadlineAt - 700,
			});
		},
		{ actor: "ops" },
	);
}

/** Running work, with a lease of 5 s, that was asked to cancel within 30 s. */
async function asked(scene: Scene): Promise<Held> {
	const held = await scene.start({ policy: { retry: {} } }, { leaseMs: 5000 });
	await scene.backend.executions.cancel(held.id, { reason: "enough" });
	return held;
}
