import { expect } from "vitest";
import type { ClaimedExecution } from "../../../src/index.ts";
import type { PublicCase } from "../scene.ts";

export function claimWaitingCases(test: PublicCase): void {
	test("a claim that may not wait answers at once with nothing", async (scene) => {
		expect(await scene.claim({ waitMs: 0 })).toEqual([]);
		expect(await scene.claim()).toEqual([]);
	});

	test("a waiting claim is woken by a submit", async (scene) => {
		const waiting = scene.claim({ waitMs: 30_000 });
		await scene.clock.settle();
		const id = await scene.create();
		expect(ids(await waiting)).toEqual([id]);
	});

	test("a waiting claim is not woken by work of other lanes, kinds or tenants", async (scene) => {
		let answered = false;
		const waiting = scene.claim({ waitMs: 5000, lanes: ["a"], kinds: ["k"] }).finally(() => (answered = true));
		await scene.clock.settle();
		await scene.create({ lane: "b", kind: "k" });
		await scene.create({ lane: "a", kind: "other" });
		await scene.create({ lane: "a", kind: "k", namespace: "n" });
		await scene.clock.advance(4999);
		expect(answered).toBe(false);
		const id = await scene.create({ lane: "a", kind: "k" });
		expect(ids(await waiting)).toEqual([id]);
	});

	test("a waiting claim is woken when a delay runs out", async (scene) => {
		const id = await scene.create({ delayMs: 2000 });
		const waiting = scene.claim({ waitMs: 30_000 });
		await scene.clock.advance(2000);
		expect(ids(await waiting)).toEqual([id]);
		expect((await scene.events(id)).find(({ type }) => type === "claimed")?.at).toBe(scene.now);
	});

	test("a waiting claim is woken when a retry is due", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry: { backoff: { type: "fixed", delayMs: 3000 } } } });
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		const waiting = scene.claim({ waitMs: 30_000 });
		await scene.clock.advance(3000);
		expect(ids(await waiting)).toEqual([id]);
	});

	test("a waiting claim is woken when another's lease lapses", async (scene) => {
		const { id } = await scene.start({}, { leaseMs: 5000 });
		const waiting = scene.claim({ waitMs: 30_000, instanceId: "instance-2" });
		await scene.clock.advance(5000);
		const [claimed] = await waiting;
		expect(claimed).toMatchObject({ id, attempt: { index: 1, type: "reclaim" }, lease: { epoch: 2 } });
	});

	test("a waiting claim is woken by released, revoked and replayed work", async (scene) => {
		const giveBack = [
			async () => {
				const { id, fence } = await scene.start();
				return { id, act: () => scene.backend.leases.release(id, { fence }) };
			},
			async () => {
				const { id } = await scene.start();
				return { id, act: () => scene.backend.executions.revokeLease(id) };
			},
			async () => {
				const { id } = await scene.finished();
				return { id, act: () => scene.backend.executions.replay(id) };
			},
		];
		for (const prepare of giveBack) {
			const { id, act } = await prepare();
			const waiting = scene.claim({ waitMs: 30_000, instanceId: "instance-2" });
			await scene.clock.settle();
			await act();
			expect(ids(await waiting)).toEqual([id]);
		}
	});

	test("a claim waits no longer than waitMs", async (scene) => {
		let answer: ClaimedExecution[] | undefined;
		const waiting = scene.claim({ waitMs: 1000 }).then((found) => (answer = found));
		await scene.clock.advance(999);
		expect(answer).toBeUndefined();
		await scene.clock.advance(1);
		await waiting;
		expect(answer).toEqual([]);
	});

	test("a claim that is called off answers with nothing and takes nothing later", async (scene) => {
		const controller = new AbortController();
		const waiting = scene.claim({ waitMs: 30_000 }, controller.signal);
		await scene.clock.settle();
		controller.abort();
		expect(await waiting).toEqual([]);
		const id = await scene.create();
		await scene.clock.settle();
		expect((await scene.get(id)).publicState).toBe("waiting");
	});

	test("several waiting claims each get work", async (scene) => {
		const waiting = [1, 2, 3].map((n) => scene.claim({ waitMs: 30_000, instanceId: `instance-${n}` }));
		await scene.clock.settle();
		const created = [await scene.create(), await scene.create(), await scene.create()];
		// Claims that went for the same work look again, a few milliseconds later.
		await scene.clock.advance(50);
		const claimed = (await Promise.all(waiting)).map(ids);
		expect(claimed.every((each) => each.length === 1)).toBe(true);
		expect(claimed.flat().sort()).toEqual(created.sort());
	});

	test("several waiting claims share what one batch brings", async (scene) => {
		const waiting = [1, 2, 3].map((n) => scene.claim({ waitMs: 30_000, instanceId: `instance-${n}` }));
		await scene.clock.settle();
		await scene.backend.executions.createMany([{ kind: "job" }, { kind: "job" }, { kind: "job" }]);
		// Claims that went for the same work look again, a few milliseconds later.
		await scene.clock.advance(50);
		const claimed = (await Promise.all(waiting)).map(ids);
		expect(claimed.map((each) => each.length)).toEqual([1, 1, 1]);
		expect(new Set(claimed.flat()).size).toBe(3);
	});

	test("work passed over by one waiting claim wakes another that can take it", async (scene) => {
		const picky = scene.claim({ waitMs: 1000, kinds: ["a"], instanceId: "picky" });
		const open = scene.claim({ waitMs: 30_000, kinds: ["b"], instanceId: "open" });
		await scene.clock.settle();
		const id = await scene.create({ kind: "b" });
		expect(ids(await open)).toEqual([id]);
		await scene.clock.advance(1000);
		expect(await picky).toEqual([]);
	});

	test("a claim waiting on several lanes is woken by any of them", async (scene) => {
		for (const lane of ["a", "b", "c"]) {
			const waiting = scene.claim({ waitMs: 30_000, lanes: ["a", "b", "c"] });
			await scene.clock.settle();
			const id = await scene.create({ lane });
			expect(ids(await waiting)).toEqual([id]);
		}
	});
}

const ids = (claimed: ClaimedExecution[]): string[] => claimed.map(({ id }) => id);
