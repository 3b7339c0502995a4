import { expect } from "vitest";
import type { GrantRequest } from "../../../src/index.ts";
import type { Held, PublicCase, Scene } from "../scene.ts";

const grantOf = (scene: Scene, request: Partial<GrantRequest> = {}) =>
	scene.backend.leases.grant({ workerId: "worker", instanceId: "i", grantTtlMs: 1000, ...request });

const complete = (scene: Scene, { id, fence }: Held) => scene.backend.leases.complete(id, { fence });

/** Lets messages between partitions arrive, and what waits be released. */
const settle = (scene: Scene) => scene.clock.advance(20);

async function withSlots(scene: Scene, concurrency: number, id = "q"): Promise<void> {
	await scene.backend.quotas.create({ id, concurrency });
}

export function quotaAdmissionCases(test: PublicCase): void {
	test("no more run at once than there are slots; the rest is told apart and waits", async (scene) => {
		await withSlots(scene, 2);
		const ids = [];
		for (let n = 0; n < 5; n++) ids.push(await scene.create({ quotas: ["q"] }));
		const claimed = await scene.claim({ max: 9 });
		expect(claimed.map(({ id }) => id)).toEqual(ids.slice(0, 2));
		const [, , third = ""] = ids;
		expect(await scene.state(third)).toEqual({
			publicState: "rate_limited",
			lifecyclePhase: "runnable",
			ownershipState: "unowned",
			eligibilityState: "blocked_by_quota",
			blockingReason: "waiting_for_quota",
			terminalOutcome: "none",
			attemptState: "pending_first_attempt",
		});
		const { blockingDetail, blockedAt } = await scene.get(third);
		expect(blockingDetail).toBe("quota q: concurrency 2/2");
		expect(blockedAt).toBe(scene.now);
		expect(await scene.eventTypes(third)).toEqual(["created", "blocked"]);
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { max: 2, held: 2 }, waiting: 3 });
	});

	test("a slot that is freed releases the next in line at once", async (scene) => {
		await withSlots(scene, 1);
		const first = await scene.start({ quotas: ["q"] });
		const later = await scene.create({ quotas: ["q"] });
		const urgent = await scene.create({ quotas: ["q"], priority: 5 });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		await complete(scene, first);
		await settle(scene);
		expect((await scene.get(urgent)).publicState).toBe("waiting");
		expect((await scene.get(later)).publicState).toBe("rate_limited");
		expect(await scene.eventTypes(urgent)).toEqual(["created", "blocked", "unblocked"]);
		expect((await scene.take()).id).toBe(urgent);
	});

	test("a slot whose next in line is cancelled before it runs releases the one behind it", async (scene) => {
		await withSlots(scene, 1);
		const first = await scene.start({ quotas: ["q"] });
		const next = await scene.create({ quotas: ["q"] });
		const behind = await scene.create({ quotas: ["q"] });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		await complete(scene, first);
		await settle(scene);
		expect((await scene.get(next)).publicState).toBe("waiting");
		await scene.backend.executions.cancel(next);
		await settle(scene);
		expect((await scene.take()).id).toBe(behind);
	});

	test("a slot whose next in line has to wait for another quota releases the one behind it", async (scene) => {
		await withSlots(scene, 1);
		await withSlots(scene, 1, "r");
		await scene.start({ quotas: ["r"] });
		const first = await scene.start({ quotas: ["q"] });
		const next = await scene.create({ quotas: ["q", "r"] });
		const behind = await scene.create({ quotas: ["q"] });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		await complete(scene, first);
		await settle(scene);
		expect(await scene.claim()).toEqual([]);
		await settle(scene);
		expect((await scene.take()).id).toBe(behind);
		expect((await scene.get(next)).blockingDetail).toBe("quota r: concurrency 1/1");
	});

	test("a claim that waits is given what a freed slot lets run", async (scene) => {
		await withSlots(scene, 1);
		const first = await scene.start({ quotas: ["q"] });
		const next = await scene.create({ quotas: ["q"] });
		const waiting = scene.claim({ waitMs: 10_000 });
		await scene.clock.advance(100);
		await complete(scene, first);
		await scene.clock.advance(500);
		expect((await waiting).map(({ id }) => id)).toEqual([next]);
	});

	const ends: Record<string, (scene: Scene, held: Held) => Promise<unknown>> = {
		completes: complete,
		fails: (scene, { id, fence }) => scene.backend.leases.fail(id, { fence, reason: "no" }),
		"is delayed": (scene, { id, fence }) => scene.backend.leases.delay(id, { fence, delayMs: 60_000 }),
		"is released and cancelled": async (scene, { id, fence }) => {
			await scene.backend.leases.release(id, { fence });
			await scene.backend.executions.cancel(id);
		},
		"is cancelled by force": (scene, { id }) => scene.backend.executions.cancel(id, { mode: "force" }),
		"loses its lease and is cancelled": async (scene, { id }) => {
			await scene.clock.advance(31_000);
			await scene.backend.executions.cancel(id);
		},
		"has its lease revoked and is cancelled": async (scene, { id }) => {
			await scene.backend.executions.revokeLease(id);
			await scene.backend.executions.cancel(id);
		},
	};
	for (const [how, end] of Object.entries(ends)) {
		test(`work that ${how} gives its slot back`, async (scene) => {
			await withSlots(scene, 1);
			const held = await scene.start({ quotas: ["q"] });
			expect(await scene.backend.quotas.get("q")).toMatchObject({
				concurrency: { held: 1 },
				holders: [{ executionId: held.id, leaseId: held.lease.id, since: scene.now }],
			});
			await end(scene, held);
			await settle(scene);
			expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 0 }, holders: [], waiting: 0 });
			expect((await scene.start({ quotas: ["q"] })).attempt.type).toBe("initial");
		});
	}

	test("no more are admitted within the window than its rate says, and those that wait follow as it moves", async (scene) => {
		await scene.backend.quotas.create({ id: "q", rate: { max: 2, windowMs: 1000 } });
		for (let n = 0; n < 5; n++) await scene.create({ quotas: ["q"] });
		expect(await scene.claim({ max: 9 })).toHaveLength(2);
		await scene.clock.advance(999);
		expect(await scene.claim({ max: 9 })).toEqual([]);
		await scene.clock.advance(30);
		expect(await scene.claim({ max: 9 })).toHaveLength(2);
		await scene.clock.advance(1030);
		expect(await scene.claim({ max: 9 })).toHaveLength(1);
	});

	test("an admission exactly as old as the window no longer counts", async (scene) => {
		await scene.backend.quotas.create({ id: "q", rate: { max: 1, windowMs: 1000 } });
		await scene.start({ quotas: ["q"] });
		await scene.clock.advance(1000);
		expect((await scene.start({ quotas: ["q"] })).attempt.index).toBe(0);
	});

	test("a place in the window is not given back by work that ran", async (scene) => {
		await scene.backend.quotas.create({ id: "q", rate: { max: 1, windowMs: 1000 } });
		await complete(scene, await scene.start({ quotas: ["q"] }));
		await scene.create({ quotas: ["q"] });
		expect(await scene.claim()).toEqual([]);
		const [blocked] = (await scene.backend.executions.list({ state: "rate_limited" })).executions;
		expect(blocked?.blockingDetail).toBe("quota q: rate 1/1 in 1000 ms");
		expect(await scene.backend.quotas.get("q")).toMatchObject({ rate: { max: 1, windowMs: 1000, counted: 1 } });
	});

	test("the claimed event tells when it was admitted", async (scene) => {
		await withSlots(scene, 1);
		const { id } = await scene.start({ quotas: ["q"] });
		const claimed = (await scene.events(id)).find(({ type }) => type === "claimed");
		expect(claimed).toMatchObject({ admittedAt: scene.now });
		const { id: free } = await scene.start();
		expect((await scene.events(free)).find(({ type }) => type === "claimed")).not.toHaveProperty("admittedAt");
	});

	test("several quotas must all admit it, and one that refuses costs the others nothing", async (scene) => {
		await withSlots(scene, 1, "b-full");
		await withSlots(scene, 5, "a-free");
		await scene.backend.quotas.create({ id: "c-rate", rate: { max: 1, windowMs: 60_000 } });
		await scene.start({ quotas: ["b-full"] });
		const id = await scene.create({ quotas: ["c-rate", "b-full", "a-free"] });
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(id)).blockingDetail).toBe("quota b-full: concurrency 1/1");
		await settle(scene);
		expect(await scene.backend.quotas.get("a-free")).toMatchObject({ concurrency: { held: 0 } });
		expect(await scene.backend.quotas.get("c-rate")).toMatchObject({ rate: { counted: 0 } });
		await scene.start({ quotas: ["a-free", "c-rate"] });
	});

	test("what is blocked hides nothing behind it", async (scene) => {
		await withSlots(scene, 1);
		await scene.start({ quotas: ["q"] });
		for (let n = 0; n < 12; n++) await scene.create({ quotas: ["q"], priority: 9 });
		const free = await scene.create();
		expect((await scene.take()).id).toBe(free);
	});

	test("work without budgets and quotas stands in one order with the rest", async (scene) => {
		await withSlots(scene, 9);
		const ids = [await scene.create({ quotas: ["q"] })];
		await scene.clock.advance(1);
		ids.push(await scene.create());
		await scene.clock.advance(1);
		ids.push(await scene.create({ quotas: ["q"] }));
		const order = [];
		for (let n = 0; n < 3; n++) order.push((await scene.take()).id);
		expect(order).toEqual(ids);
	});

	test("explain names who holds the slots, as of now", async (scene) => {
		await withSlots(scene, 1);
		const holder = await scene.start({ quotas: ["q"] });
		const id = await scene.create({ quotas: ["q"] });
		const full = `quota q: concurrency 1/1; by ${holder.id}`;
		expect((await scene.backend.executions.explain(id)).summary).toBe(full);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.backend.executions.explain(id)).summary).toBe(full);
		await complete(scene, holder);
		await settle(scene);
		expect((await scene.backend.executions.explain(id)).summary).toBe("no live worker takes kind job on lane default");
	});

	test("keys take turns among what waits for a slot", async (scene) => {
		await withSlots(scene, 1);
		const first = await scene.start({ quotas: ["q"] });
		for (let n = 0; n < 6; n++) await scene.create({ quotas: ["q"], fairnessKey: "a", tags: { key: "a" } });
		for (let n = 0; n < 2; n++) await scene.create({ quotas: ["q"], fairnessKey: "b", tags: { key: "b" } });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		let held = first;
		const served: (string | undefined)[] = [];
		for (let n = 0; n < 8; n++) {
			await complete(scene, held);
			await settle(scene);
			held = await scene.take();
			served.push(held.tags.key);
		}
		expect(served.slice(0, 4).filter((key) => key === "b")).toHaveLength(2);
	});

	test("a raised limit lets more run at once", async (scene) => {
		await withSlots(scene, 1);
		for (let n = 0; n < 4; n++) await scene.create({ quotas: ["q"] });
		expect(await scene.claim({ max: 9 })).toHaveLength(1);
		await settle(scene);
		await scene.backend.quotas.patch("q", { concurrency: 3 });
		await settle(scene);
		expect((await scene.backend.executions.list({ state: "rate_limited" })).executions).toHaveLength(1);
		expect(await scene.claim({ max: 9 })).toHaveLength(2);
	});

	test("a lowered limit takes nothing away and lets nobody in before there is room", async (scene) => {
		await withSlots(scene, 2);
		for (let n = 0; n < 3; n++) await scene.create({ quotas: ["q"] });
		const running = await scene.claim({ max: 2 });
		expect(running).toHaveLength(2);
		await scene.backend.quotas.patch("q", { concurrency: 1 });
		expect(await scene.claim()).toEqual([]);
		const [one, two] = running;
		for (const [claimed, expected] of [
			[one, 0],
			[two, 1],
		] as const) {
			if (!claimed) throw new Error("not claimed");
			const { id, lease } = claimed;
			await scene.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
			await settle(scene);
			expect(await scene.claim()).toHaveLength(expected);
		}
	});

	test("a deleted quota lets go of what waited for it", async (scene) => {
		await withSlots(scene, 1);
		for (let n = 0; n < 4; n++) await scene.create({ quotas: ["q"] });
		expect(await scene.claim({ max: 9 })).toHaveLength(1);
		await scene.backend.quotas.delete("q");
		await settle(scene);
		expect(await scene.claim({ max: 9 })).toHaveLength(3);
	});

	test("a grant holds a slot, and accepting it needs no other", async (scene) => {
		await withSlots(scene, 1);
		const id = await scene.create({ quotas: ["q"] });
		const grant = await grantOf(scene);
		expect(grant?.executionId).toBe(id);
		expect(await scene.backend.quotas.get("q")).toMatchObject({
			concurrency: { held: 1 },
			holders: [{ executionId: id, grantId: grant?.grantId }],
		});
		await scene.create({ quotas: ["q"] });
		expect(await scene.claim()).toEqual([]);
		const claimed = await scene.backend.leases.acceptGrant(grant?.grantId ?? "", { instanceId: "i", leaseMs: 5000 });
		expect(await scene.backend.quotas.get("q")).toMatchObject({
			concurrency: { held: 1 },
			holders: [{ executionId: id, leaseId: claimed.lease.id }],
		});
		const fence = { leaseId: claimed.lease.id, epoch: claimed.lease.epoch };
		await scene.backend.leases.complete(id, { fence });
		await settle(scene);
		expect(await scene.claim()).toHaveLength(1);
	});

	test("a grant that lapses gives back its slot and its place in the window", async (scene) => {
		await scene.backend.quotas.create({ id: "q", concurrency: 1, rate: { max: 1, windowMs: 60_000 } });
		const id = await scene.create({ quotas: ["q"] });
		await grantOf(scene);
		await scene.clock.advance(1100);
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 0 }, rate: { counted: 0 } });
		expect((await scene.take()).id).toBe(id);
	});

	test("a grant is not given what a quota refuses", async (scene) => {
		await withSlots(scene, 1);
		await scene.start({ quotas: ["q"] });
		const id = await scene.create({ quotas: ["q"] });
		expect(await grantOf(scene)).toBeNull();
		expect((await scene.get(id)).publicState).toBe("rate_limited");
	});

	test("blocked work can be cancelled, and its queue timeout ends it too", async (scene) => {
		await withSlots(scene, 1);
		await scene.start({ quotas: ["q"] }, { leaseMs: 120_000 });
		const cancelled = await scene.create({ quotas: ["q"] });
		const impatient = await scene.create({ quotas: ["q"], policy: { timeouts: { queueMs: 5000 } } });
		expect(await scene.claim({ max: 9 })).toEqual([]);
		await scene.backend.executions.cancel(cancelled);
		expect((await scene.get(cancelled)).publicState).toBe("cancelled");
		await scene.clock.advance(5100);
		expect((await scene.get(impatient)).publicState).toBe("expired");
		expect(await scene.backend.quotas.get("q")).toMatchObject({ waiting: 0 });
	});

	test("a retry needs a slot of its own", async (scene) => {
		await withSlots(scene, 1);
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 100 } } } as const;
		const held = await scene.start({ quotas: ["q"], policy });
		await scene.backend.leases.fail(held.id, { fence: held.fence, reason: "again" });
		await settle(scene);
		const other = await scene.start({ quotas: ["q"] });
		await scene.clock.advance(200);
		expect(await scene.claim()).toEqual([]);
		expect((await scene.get(held.id)).publicState).toBe("rate_limited");
		await complete(scene, other);
		await settle(scene);
		expect((await scene.take()).attempt).toMatchObject({ index: 1, type: "retry" });
	});

	test("work of another namespace never takes a slot of this one's", async (scene) => {
		await withSlots(scene, 1);
		await scene.backend.quotas.create({ id: "q", namespace: "other", concurrency: 1 });
		await scene.start({ quotas: ["q"] });
		const id = await scene.create({ quotas: ["q"], namespace: "other" });
		expect((await scene.take({ namespace: "other" })).id).toBe(id);
	});

	test("the same claim again under its request id is given the same leases and takes no second slot", async (scene) => {
		await withSlots(scene, 5);
		for (let n = 0; n < 4; n++) await scene.create({ quotas: ["q"] });
		const first = await scene.claim({ max: 2, requestId: "r" });
		const again = await scene.claim({ max: 2, requestId: "r" });
		expect(again.map(({ lease }) => lease.id).sort()).toEqual(first.map(({ lease }) => lease.id).sort());
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 2 } });
	});

	test("what waits comes in order as slots are freed", async (scene) => {
		await withSlots(scene, 3);
		const ids = [];
		for (let n = 0; n < 30; n++) {
			ids.push(await scene.create({ quotas: ["q"] }));
			await scene.clock.advance(60);
		}
		const done: string[] = [];
		while (done.length < 30) {
			const claimed = await scene.claim({ max: 9 });
			expect(claimed.length).toBeGreaterThan(0);
			expect(claimed.length).toBeLessThanOrEqual(3);
			for (const { id, lease } of claimed) {
				await scene.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
				done.push(id);
			}
			await settle(scene);
		}
		expect(done).toEqual(ids);
		expect(await scene.backend.quotas.get("q")).toMatchObject({ concurrency: { held: 0 }, waiting: 0 });
	});
}
