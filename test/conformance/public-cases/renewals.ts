import { expect } from "vitest";
import { type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

const leaseOf = ({ id, fence }: Held) => ({ executionId: id, ...fence });

export function renewalCases(test: PublicCase): void {
	test("renewing moves the expiry to a ttl from now", async (scene) => {
		const held = await scene.start({}, { leaseMs: 1000 });
		await scene.clock.advance(600);
		const expiresAt = scene.now + 1000;
		expect(await scene.backend.leases.renew({ leases: [leaseOf(held)], leaseMs: 1000 })).toEqual([
			{ executionId: held.id, ok: true, expiresAt },
		]);
		expect((await scene.get(held.id)).lease?.expiresAt).toBe(expiresAt);
	});

	test("a lease renewed in time does not lapse", async (scene) => {
		const held = await scene.start({}, { leaseMs: 1000 });
		for (let n = 0; n < 10; n++) {
			await scene.clock.advance(900);
			expect(await renew(scene, held)).toMatchObject({ ok: true });
		}
		expect(await scene.get(held.id)).toMatchObject({ publicState: "active", reclaims: 0, lease: { epoch: 1 } });
		await scene.clock.advance(1000);
		expect((await scene.get(held.id)).publicState).toBe("waiting");
	});

	test("renewing without leaseMs keeps the ttl of the claim", async (scene) => {
		const held = await scene.start({}, { leaseMs: 7000 });
		await scene.clock.advance(5000);
		expect(await renew(scene, held)).toMatchObject({ expiresAt: scene.now + 7000 });
	});

	test("a renewal may change the ttl", async (scene) => {
		const held = await scene.start({}, { leaseMs: 1000 });
		expect(await renew(scene, held, 60_000)).toMatchObject({ expiresAt: scene.now + 60_000 });
		await scene.clock.advance(59_999);
		expect((await scene.get(held.id)).publicState).toBe("active");
		expect(await renew(scene, held)).toMatchObject({ expiresAt: scene.now + 60_000 });
	});

	test("many leases are renewed in one call, answered in the order given", async (scene) => {
		const held: Held[] = [];
		for (let n = 0; n < 30; n++) held.push(await scene.start());
		await scene.clock.advance(1000);
		const answers = await scene.backend.leases.renew({ leases: held.map(leaseOf), leaseMs: 20_000 });
		expect(answers).toEqual(held.map(({ id }) => ({ executionId: id, ok: true, expiresAt: scene.now + 20_000 })));
	});

	test("each lease of a renewal is answered on its own", async (scene) => {
		const good = await scene.start();
		const expired = await scene.start({}, { leaseMs: 100 });
		await scene.clock.advance(100);
		const revoked = await scene.start({ kind: "revoked" }, { kinds: ["revoked"] });
		await scene.backend.executions.revokeLease(revoked.id);
		const finished = await scene.finished({ kind: "finished", lane: "elsewhere" });
		const foreign = { ...leaseOf(good), epoch: 7 };
		const missing = { ...leaseOf(good), executionId: unknownId };
		const answers = await scene.backend.leases.renew({
			leases: [leaseOf(expired), leaseOf(good), leaseOf(revoked), leaseOf(finished), foreign, missing],
		});
		expect(answers.map(({ ok, error }) => (ok ? "ok" : error?.code))).toEqual([
			"lease_expired",
			"ok",
			"lease_revoked",
			"execution_not_active",
			"stale_lease",
			"execution_not_found",
		]);
		expect(answers.map(({ executionId }) => executionId)).toEqual([
			expired.id,
			good.id,
			revoked.id,
			finished.id,
			good.id,
			unknownId,
		]);
	});

	test("a renewal tells of a pending cancel and why", async (scene) => {
		const held = await scene.start();
		await scene.backend.executions.cancel(held.id, { reason: "changed my mind" });
		expect(await renew(scene, held)).toMatchObject({ ok: true, cancelRequested: true, reason: "changed my mind" });
	});

	test("a renewal tells of a pending cancel without a reason too", async (scene) => {
		const held = await scene.start();
		expect(await renew(scene, held)).not.toHaveProperty("cancelRequested");
		await scene.backend.executions.cancel(held.id);
		expect(await renew(scene, held)).toMatchObject({ ok: true, cancelRequested: true });
	});

	test("renewing does not lengthen the grace of a cancel", async (scene) => {
		const held = await scene.start();
		await scene.backend.executions.cancel(held.id, { graceMs: 5000 });
		await scene.clock.advance(4000);
		expect(await renew(scene, held)).toMatchObject({ ok: true });
		await scene.clock.advance(1000);
		expect((await scene.get(held.id)).publicState).toBe("cancelled");
	});

	test("renewals are no events but are counted in the history of the lease", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 3; n++) await renew(scene, held);
		expect(await scene.eventTypes(held.id)).toEqual(["created", "claimed"]);
		await scene.backend.leases.release(held.id, { fence: held.fence });
		expect((await scene.events(held.id)).at(-1)).toMatchObject({ type: "lease_released", epoch: 1, renewals: 3 });
	});

	test("renewing nothing answers nothing", async (scene) => {
		expect(await scene.backend.leases.renew({ leases: [] })).toEqual([]);
	});

	test("1000 leases may be renewed at once, 1001 are refused", async (scene) => {
		const held = await scene.start();
		const lease = { executionId: unknownId, leaseId: held.fence.leaseId, epoch: 1 };
		const answers = await scene.backend.leases.renew({ leases: Array.from({ length: 1000 }, () => lease) });
		expect(answers).toHaveLength(1000);
		const error = await refusal(scene.backend.leases.renew({ leases: Array.from({ length: 1001 }, () => lease) }));
		expect(error).toMatchObject({ code: "invalid_input", details: { field: "leases" } });
	});
}

async function renew(scene: Scene, held: Held, leaseMs?: number) {
	const [answer] = await scene.backend.leases.renew({
		leases: [leaseOf(held)],
		...(leaseMs === undefined ? undefined : { leaseMs }),
	});
	return answer;
}
