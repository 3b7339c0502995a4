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

const accept = (scene: Scene, { grantId }: GrantView) => scene.backend.leases.acceptGrant(grantId, { instanceId: "i" });

/** A grant that is asked for again because nobody knows whether its first answer arrived. */
export function grantRequestCases(test: PublicCase): void {
	test("repeated under its request id it is the same grant, and nothing else is reserved", async (scene) => {
		await scene.create();
		await scene.create();
		const first = await granted(scene, { requestId: "r" });
		await scene.clock.advance(500);
		expect(await grantOf(scene, { requestId: "r" })).toEqual(first);
		expect(await grantOf(scene, { requestId: "r", lanes: ["other"], grantTtlMs: 5000 })).toEqual(first);
		expect(await scene.claim({ max: 9 })).toHaveLength(1);
		const claimed = await accept(scene, first);
		expect(claimed.id).toBe(first.executionId);
	});

	test("another request id, instance or tenant, a claim, or none reserves something else", async (scene) => {
		for (let n = 0; n < 4; n++) await scene.create();
		await scene.create({ namespace: "n" });
		const given = [
			(await granted(scene, { requestId: "r" })).executionId,
			(await granted(scene, { requestId: "r2" })).executionId,
			(await granted(scene, { requestId: "r", instanceId: "other" })).executionId,
			(await granted(scene, { requestId: "r", namespace: "n" })).executionId,
			(await scene.claim({ requestId: "r", instanceId: "i" }))[0]?.id,
		];
		expect(new Set(given).size).toBe(5);
		expect(await grantOf(scene)).toBeNull();
	});

	test("a request whose grant has lapsed reserves anew", async (scene) => {
		const id = await scene.create();
		const first = await granted(scene, { requestId: "r" });
		await scene.clock.advance(1000);
		const second = await granted(scene, { requestId: "r" });
		expect(second.executionId).toBe(id);
		expect(second.grantId).not.toBe(first.grantId);
		expect(await grantOf(scene, { requestId: "r" })).toEqual(second);
	});

	test("a grant that was accepted is told again while its lease is held, and then nothing else", async (scene) => {
		const id = await scene.create();
		await scene.create();
		const grant = await granted(scene, { requestId: "r" });
		const { lease } = await accept(scene, grant);
		expect(await grantOf(scene, { requestId: "r" })).toEqual(grant);
		expect((await accept(scene, grant)).lease).toEqual(lease);
		await scene.backend.leases.complete(id, { fence: { leaseId: lease.id, epoch: lease.epoch } });
		expect(await grantOf(scene, { requestId: "r" })).toBeNull();
		await scene.clock.advance(1000);
		expect((await granted(scene, { requestId: "r" })).executionId).not.toBe(id);
	});

	test("a request that found nothing leaves nothing behind", async (scene) => {
		expect(await grantOf(scene, { requestId: "r" })).toBeNull();
		const id = await scene.create();
		expect((await granted(scene, { requestId: "r" })).executionId).toBe(id);
	});

	test("a repeat that comes while the first waits joins it", async (scene) => {
		const first = grantOf(scene, { waitMs: 10_000, requestId: "r" });
		const second = grantOf(scene, { waitMs: 10_000, requestId: "r" });
		await scene.clock.settle();
		await scene.create();
		await scene.create();
		const answers = await Promise.all([first, second]);
		expect(answers[0]).not.toBeNull();
		expect(answers[1]).toEqual(answers[0]);
	});

	test("a request id of no characters or too many is refused by name", async (scene) => {
		for (const requestId of ["", "x".repeat(257)]) {
			const { code, message } = await refusal(grantOf(scene, { requestId }));
			expect([code, message]).toEqual(["invalid_input", expect.stringContaining("requestId: must be")]);
		}
	});
}
