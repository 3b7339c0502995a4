import { expect } from "vitest";
import type { ClaimedExecution } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const leases = (claimed: ClaimedExecution[]): string[] => claimed.map(({ lease }) => lease.id);
const ids = (claimed: ClaimedExecution[]): string[] => claimed.map(({ id }) => id);

async function createMany(scene: Scene, count: number, lane = "default"): Promise<void> {
	await scene.backend.executions.createMany(Array.from({ length: count }, () => ({ kind: "job", lane })));
}

/** A claim that is repeated because nobody knows whether its first answer arrived. */
export function claimRequestCases(test: PublicCase): void {
	test("a repeated claim gives the same leases and takes nothing else", async (scene) => {
		await createMany(scene, 5);
		const first = await scene.claim({ max: 2, requestId: "r" });
		expect(first).toHaveLength(2);
		expect(await scene.claim({ max: 2, requestId: "r" })).toEqual(first);
		expect(await scene.claim({ max: 5, requestId: "r", lanes: ["other"] })).toEqual(first);
		expect((await scene.backend.executions.list({ state: "waiting" })).executions).toHaveLength(3);
	});

	test("another request id, instance or tenant takes other work", async (scene) => {
		await createMany(scene, 4);
		await scene.create({ namespace: "n" });
		const given = [
			await scene.claim({ requestId: "r" }),
			await scene.claim({ requestId: "r2" }),
			await scene.claim({ requestId: "r", instanceId: "instance-2" }),
			await scene.claim({ requestId: "r", namespace: "n" }),
			await scene.claim({}),
		];
		expect(given.map((claimed) => claimed.length)).toEqual([1, 1, 1, 1, 1]);
		expect(new Set(given.flatMap(ids)).size).toBe(5);
	});

	test("an instance and a request id are never taken for others of the same letters", async (scene) => {
		await createMany(scene, 2);
		const one = await scene.claim({ instanceId: "a:b", requestId: "c" });
		const two = await scene.claim({ instanceId: "a", requestId: "b:c" });
		expect(ids(one)).not.toEqual(ids(two));
	});

	test("of what was taken, a repeat gives what is still held under the same lease", async (scene) => {
		await createMany(scene, 4);
		const first = await scene.claim({ max: 4, requestId: "r" });
		const [done, revoked, released, kept] = first as [ClaimedExecution, ...ClaimedExecution[]] & ClaimedExecution[];
		const fence = ({ lease }: ClaimedExecution) => ({ leaseId: lease.id, epoch: lease.epoch });
		await scene.backend.leases.complete(done.id, { fence: fence(done) });
		await scene.backend.executions.revokeLease(revoked?.id ?? "");
		await scene.take({ instanceId: "instance-2" });
		await scene.backend.leases.release(released?.id ?? "", { fence: fence(released as ClaimedExecution) });
		// Claimed anew by the same instance, under another lease and no request id.
		expect(ids(await scene.claim({}))).toEqual([released?.id]);
		expect(await scene.claim({ max: 4, requestId: "r" })).toEqual([kept]);
	});

	test("a repeat after all of it ended takes nothing new", async (scene) => {
		await createMany(scene, 2);
		const held = await scene.take({ requestId: "r" });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		expect(await scene.claim({ requestId: "r" })).toEqual([]);
	});

	test("a repeat shows a lease as it is now", async (scene) => {
		await scene.create();
		const held = await scene.take({ requestId: "r", leaseMs: 10_000 });
		await scene.clock.advance(5000);
		await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
		const [again] = await scene.claim({ requestId: "r", leaseMs: 10_000 });
		expect(again?.lease).toEqual({ ...held.lease, expiresAt: scene.now + 10_000 });
	});

	test("the id is remembered for leaseMs, and free afterwards", async (scene) => {
		await createMany(scene, 2);
		const first = await scene.take({ requestId: "r", leaseMs: 9000 });
		await scene.clock.advance(6000);
		await scene.backend.leases.renew({ leases: [{ executionId: first.id, ...first.fence }] });
		await scene.clock.advance(2999);
		expect((await scene.take({ requestId: "r", leaseMs: 9000 })).id).toBe(first.id);
		await scene.clock.advance(1);
		expect((await scene.take({ requestId: "r", leaseMs: 9000 })).id).not.toBe(first.id);
	});

	test("a claim that found nothing leaves nothing behind", async (scene) => {
		expect(await scene.claim({ requestId: "r" })).toEqual([]);
		const id = await scene.create();
		expect(ids(await scene.claim({ requestId: "r" }))).toEqual([id]);
	});

	test("a repeat that comes while the first still waits joins it", async (scene) => {
		const first = scene.claim({ waitMs: 30_000, max: 2, requestId: "r" });
		await scene.clock.settle();
		const second = scene.claim({ waitMs: 30_000, max: 2, requestId: "r" });
		await scene.clock.settle();
		await createMany(scene, 1);
		await scene.clock.advance(50);
		await createMany(scene, 1);
		const answers = await Promise.all([first, second]);
		expect(answers[0]).toHaveLength(1);
		expect(answers[1]).toEqual(answers[0]);
	});

	test("who joined gets the work although the first caller has gone", async (scene) => {
		const gone = new AbortController();
		const first = scene.claim({ waitMs: 30_000, requestId: "r" }, gone.signal);
		const second = scene.claim({ waitMs: 30_000, requestId: "r" }, new AbortController().signal);
		await scene.clock.settle();
		gone.abort();
		expect(await first).toEqual([]);
		const id = await scene.create();
		expect(ids(await second)).toEqual([id]);
	});

	test("when all callers have gone the claim takes nothing more, and the id can be used again", async (scene) => {
		const gone = new AbortController();
		const calls = [1, 2].map(() => scene.claim({ waitMs: 30_000, requestId: "r" }, gone.signal));
		await scene.clock.settle();
		gone.abort();
		expect(await Promise.all(calls)).toEqual([[], []]);
		const id = await scene.create();
		await scene.clock.settle();
		expect((await scene.get(id)).publicState).toBe("waiting");
		expect(ids(await scene.claim({ requestId: "r" }))).toEqual([id]);
	});

	test("a large claim over several lanes is repeated whole", async (scene) => {
		await createMany(scene, 100, "a");
		await createMany(scene, 100, "b");
		const request = { lanes: ["b", "a"], max: 256, requestId: "r" };
		const first = await scene.claim(request);
		expect(first).toHaveLength(200);
		const again = await scene.claim(request);
		expect(leases(again).sort()).toEqual(leases(first).sort());
		expect(again.map(({ lane }) => lane)).toEqual([...Array(100).fill("b"), ...Array(100).fill("a")]);
	});

	test("a repeat brings the input again, whatever its size", async (scene) => {
		const big = "x".repeat(50_000);
		await scene.create({ input: { big } });
		const [first] = await scene.claim({ requestId: "r" });
		expect(first?.input).toEqual({ big });
		expect(await scene.claim({ requestId: "r" })).toEqual([first]);
	});

	test("a request id of no characters or too many is refused by name", async (scene) => {
		for (const requestId of ["", "x".repeat(257)]) {
			const { code, message } = await refusal(scene.claim({ requestId }));
			expect([code, message]).toEqual(["invalid_input", expect.stringContaining("requestId: must be")]);
		}
		expect(await scene.claim({ requestId: "x".repeat(256) })).toEqual([]);
	});
}
