import { expect } from "vitest";
import type { GrantRequest, GrantView } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const grantOf = (scene: Scene, request: Partial<GrantRequest> = {}): Promise<GrantView | null> =>
	scene.backend.leases.grant({ workerId: "worker", instanceId: "i", grantTtlMs: 1000, ...request });

async function granted(scene: Scene, request: Partial<GrantRequest> = {}): Promise<GrantView> {
	const grant = await grantOf(scene, request);
	if (!grant) throw new Error("nothing was granted");
	return grant;
}

const accept = (scene: Scene, { grantId }: GrantView, instanceId = "i", leaseMs = 30_000) =>
	scene.backend.leases.acceptGrant(grantId, { instanceId, leaseMs });

export function grantCases(test: PublicCase): void {
	test("a grant reserves one execution without leasing it", async (scene) => {
		const id = await scene.create();
		const grant = await granted(scene);
		expect(grant).toEqual({
			grantId: expect.stringMatching(/^gr_[0-9a-f]{32}_\d+$/),
			executionId: id,
			expiresAt: scene.now + 1000,
		});
		expect(await scene.state(id)).toEqual({
			publicState: "waiting",
			lifecyclePhase: "runnable",
			ownershipState: "granted",
			eligibilityState: "eligible_now",
			blockingReason: "waiting_for_worker",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		expect((await scene.get(id)).blockingDetail).toBe(`granted to i until ${new Date(scene.now + 1000).toISOString()}`);
		expect((await scene.get(id)).lease).toBeUndefined();
	});

	test("a granted execution is out of everybody else's way", async (scene) => {
		const first = await scene.create({ priority: 5 });
		await scene.create();
		expect((await granted(scene)).executionId).toBe(first);
		expect(await scene.claim({ max: 9 })).toHaveLength(1);
		expect(await grantOf(scene, { instanceId: "other" })).toBeNull();
	});

	test("accepting gives a lease like a claim's", async (scene) => {
		const id = await scene.create({ input: { a: 1 }, tags: { team: "x" } });
		const grant = await granted(scene);
		const claimed = await accept(scene, grant, "i", 5000);
		expect(claimed).toMatchObject({
			id,
			kind: "job",
			input: { a: 1 },
			attempt: { index: 0, type: "initial" },
			lease: { epoch: 1, expiresAt: scene.now + 5000 },
			tags: { team: "x" },
		});
		expect(await scene.get(id)).toMatchObject({
			publicState: "active",
			state: { ownershipState: "leased" },
			lease: { workerId: "worker", instanceId: "i" },
		});
		const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		await scene.backend.leases.complete(id, { fence, result: 1 });
		expect(await scene.eventTypes(id)).toEqual(["created", "granted", "claimed", "completed"]);
	});

	test("without work there is no grant", async (scene) => {
		expect(await grantOf(scene)).toBeNull();
		await scene.create({ kind: "other" });
		expect(await grantOf(scene, { kinds: ["job"] })).toBeNull();
	});

	test("a grant goes by lane, kind and capabilities", async (scene) => {
		const id = await scene.create({ lane: "a", kind: "k", requiredCapabilities: ["gpu"] });
		expect(await grantOf(scene, { lanes: ["b"], capabilities: ["gpu"] })).toBeNull();
		expect(await grantOf(scene, { lanes: ["a"], kinds: ["x"], capabilities: ["gpu"] })).toBeNull();
		expect(await grantOf(scene, { lanes: ["a"], kinds: ["k"] })).toBeNull();
		expect((await granted(scene, { lanes: ["b", "a"], kinds: ["k"], capabilities: ["gpu"] })).executionId).toBe(id);
	});

	test("an unused grant lapses and the work is back where it stood", async (scene) => {
		const first = await scene.create();
		await scene.clock.advance(1);
		const second = await scene.create();
		await granted(scene, { grantTtlMs: 500 });
		await scene.clock.advance(499);
		expect((await scene.state(first)).ownershipState).toBe("granted");
		await scene.clock.advance(1);
		expect(await scene.state(first)).toMatchObject({ ownershipState: "unowned", eligibilityState: "eligible_now" });
		expect(await scene.eventTypes(first)).toEqual(["created", "granted", "grant_lapsed"]);
		expect([(await scene.take()).id, (await scene.take()).id]).toEqual([first, second]);
		expect((await scene.get(first)).reclaims).toBe(0);
	});

	test("a lapsed grant wakes a claim that waits", async (scene) => {
		const id = await scene.create();
		await granted(scene, { grantTtlMs: 2000 });
		const waiting = scene.claim({ waitMs: 10_000 });
		await scene.clock.advance(2000);
		expect((await waiting).map((each) => each.id)).toEqual([id]);
	});

	test("a grant that waits is woken by work", async (scene) => {
		const waiting = grantOf(scene, { waitMs: 10_000 });
		await scene.clock.settle();
		const id = await scene.create();
		expect((await waiting)?.executionId).toBe(id);
	});

	test("a grant that waits in vain comes back empty", async (scene) => {
		const waiting = grantOf(scene, { waitMs: 1000 });
		await scene.clock.advance(1000);
		expect(await waiting).toBeNull();
	});

	test("a lapsed grant cannot be accepted", async (scene) => {
		const id = await scene.create();
		const grant = await granted(scene);
		await scene.clock.advance(1000);
		expect(await refusal(accept(scene, grant))).toMatchObject({
			code: "grant_expired",
			status: 409,
			retryable: false,
			details: { grantId: grant.grantId, executionId: id },
		});
		const held = await scene.take();
		expect(await refusal(accept(scene, grant))).toMatchObject({ code: "grant_expired" });
		expect(held.id).toBe(id);
	});

	test("nobody but the instance it was given to accepts a grant", async (scene) => {
		await scene.create();
		const grant = await granted(scene);
		expect(await refusal(accept(scene, grant, "thief"))).toMatchObject({
			code: "grant_of_other_instance",
			status: 409,
		});
		await accept(scene, grant);
	});

	test("accepting twice gives the same lease, while it is held", async (scene) => {
		const id = await scene.create();
		const grant = await granted(scene);
		const one = await accept(scene, grant);
		expect(await accept(scene, grant)).toEqual(one);
		const fence = { leaseId: one.lease.id, epoch: one.lease.epoch };
		await scene.backend.leases.complete(id, { fence });
		expect(await refusal(accept(scene, grant))).toMatchObject({ code: "execution_not_active" });
	});

	test("a grant that never was is not found, and no grant id is refused by name", async (scene) => {
		const { leases } = scene.backend;
		expect(await refusal(leases.acceptGrant(`gr_${"0".repeat(32)}_5`, { instanceId: "i" }))).toMatchObject({
			code: "grant_not_found",
			status: 404,
		});
		for (const id of ["gr_1", `ex_${"0".repeat(32)}_5`, `gr_${"0".repeat(32)}_05`, `gr_${"0".repeat(32)}_99999`]) {
			expect(await refusal(leases.acceptGrant(id, { instanceId: "i" }))).toMatchObject({
				code: "invalid_input",
				details: { field: "grantId" },
			});
		}
	});

	test("a grant's time and instance are checked by name", async (scene) => {
		for (const grantTtlMs of [0, 60_001, 1.5, undefined]) {
			expect(await refusal(grantOf(scene, { grantTtlMs: grantTtlMs as number }))).toMatchObject({
				code: "invalid_input",
				details: { field: "grantTtlMs" },
			});
		}
		expect(await refusal(grantOf(scene, { max: 2 } as never))).toMatchObject({ details: { field: "max" } });
		await scene.create();
		const { grantId } = await granted(scene);
		expect(await refusal(scene.backend.leases.acceptGrant(grantId, {} as never))).toMatchObject({
			details: { field: "instanceId" },
		});
	});

	test("a granted execution is cancelled at once, and its grant is over", async (scene) => {
		const id = await scene.create();
		const grant = await granted(scene);
		expect(await scene.backend.executions.cancel(id)).toEqual({ publicState: "cancelled" });
		expect(await refusal(accept(scene, grant))).toMatchObject({ code: "execution_not_active" });
		await scene.clock.advance(2000);
		expect(await scene.eventTypes(id)).toEqual(["created", "granted", "cancelled"]);
	});

	test("a granted execution keeps its queue timeout and deadline", async (scene) => {
		const queued = await scene.create({ policy: { timeouts: { queueMs: 300 } } });
		await granted(scene);
		const due = await scene.create({ policy: { timeouts: { deadlineMs: 300 } } });
		await granted(scene);
		await scene.clock.advance(300);
		for (const id of [queued, due]) expect((await scene.get(id)).publicState).toBe("expired");
	});

	test("a granted execution changes priority, has no lease to revoke, and is not deleted", async (scene) => {
		const id = await scene.create();
		await granted(scene);
		expect(await scene.backend.executions.changePriority(id, { priority: 7 })).toMatchObject({ priority: 7 });
		expect(await scene.backend.executions.revokeLease(id)).toEqual({ revoked: false, reason: "no_active_lease" });
		expect(await refusal(scene.backend.executions.delete(id))).toMatchObject({ code: "execution_not_terminal" });
		expect((await scene.state(id)).ownershipState).toBe("granted");
	});

	test("a paused lane grants nothing, and what was granted before is not handed out", async (scene) => {
		await scene.create();
		await scene.create();
		const grant = await granted(scene);
		await scene.backend.lanes.pause("default");
		expect(await grantOf(scene)).toBeNull();
		expect(await refusal(accept(scene, grant))).toMatchObject({ code: "lane_paused", details: { lane: "default" } });
		await scene.backend.lanes.resume("default");
		await accept(scene, grant);
	});

	test("work that was interrupted goes on in the same attempt through a grant", async (scene) => {
		const held = await scene.start();
		await scene.backend.leases.release(held.id, { fence: held.fence });
		const claimed = await accept(scene, await granted(scene));
		expect(claimed).toMatchObject({ id: held.id, attempt: { index: 0, type: "initial" }, lease: { epoch: 2 } });
	});

	test("grants of another tenant do not exist", async (scene) => {
		await scene.create({ namespace: "a" });
		const ada = scene.as({ actor: "ada", namespace: "a" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		const request = { workerId: "w", instanceId: "i", grantTtlMs: 1000 };
		expect(await bob.leases.grant(request)).toBeNull();
		const grant = await ada.leases.grant(request);
		expect(await refusal(bob.leases.acceptGrant(grant?.grantId ?? "", { instanceId: "i" }))).toMatchObject({
			code: "grant_not_found",
		});
		expect(await refusal(bob.leases.grant({ ...request, namespace: "a" }))).toMatchObject({ code: "forbidden" });
		expect((await ada.leases.acceptGrant(grant?.grantId ?? "", { instanceId: "i" })).namespace).toBe("a");
	});
}
