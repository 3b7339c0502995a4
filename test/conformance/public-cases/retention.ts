import { expect } from "vitest";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const HOUR = 3_600_000;

export function retentionCases(test: PublicCase): void {
	test("ended work is kept for 24 hours, then gone", async (scene) => {
		const { id } = await scene.finished();
		await scene.clock.advance(24 * HOUR - 1);
		expect((await scene.get(id)).publicState).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(scene, id);
	});

	test("policy.retentionMs shortens or lengthens how long it is kept", async (scene) => {
		const short = await scene.finished({ policy: { retentionMs: 1000 } });
		const long = await scene.finished({ policy: { retentionMs: 30 * HOUR } });
		await scene.clock.advance(1000);
		await expectGone(scene, short.id);
		await scene.clock.advance(30 * HOUR - 1001);
		expect((await scene.get(long.id)).publicState).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(scene, long.id);
	});

	test("policy.retentionMs 0 keeps work until it is deleted", async (scene) => {
		const { id } = await scene.finished({ policy: { retentionMs: 0 } });
		await scene.clock.advance(72 * HOUR);
		expect((await scene.get(id)).publicState).toBe("completed");
		await scene.backend.executions.delete(id);
		await expectGone(scene, id);
	});

	test("retention counts from the end, and only work that has ended is trimmed", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retentionMs: 1000 } }, { leaseMs: HOUR });
		const waiting = await scene.create({ policy: { retentionMs: 1000 } });
		await scene.clock.advance(HOUR - 1);
		await scene.backend.leases.complete(id, { fence });
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(scene, id);
		expect((await scene.get(waiting)).publicState).toBe("waiting");
	});

	test("a replay stops retention until the work has ended again", async (scene) => {
		const { id } = await scene.finished({ policy: { retentionMs: 1000 } });
		await scene.clock.advance(900);
		await scene.backend.executions.replay(id);
		await scene.clock.advance(900);
		const { fence } = await scene.take();
		await scene.backend.leases.complete(id, { fence });
		await scene.clock.advance(999);
		expect((await scene.get(id)).publicState).toBe("completed");
		await scene.clock.advance(1);
		await expectGone(scene, id);
	});

	test(
		"the default given when opening holds for work that says nothing itself",
		async (scene) => {
			const plain = await scene.finished();
			const own = await scene.finished({ policy: { retentionMs: 60_000 } });
			await scene.clock.advance(5000);
			await expectGone(scene, plain.id);
			expect((await scene.get(own.id)).publicState).toBe("completed");
		},
		{ retentionMs: 5000 },
	);

	test(
		"a default of 0 keeps everything until it is deleted",
		async (scene) => {
			const plain = await scene.finished();
			const own = await scene.finished({ policy: { retentionMs: 1000 } });
			await scene.clock.advance(72 * HOUR);
			expect((await scene.get(plain.id)).publicState).toBe("completed");
			await expectGone(scene, own.id);
		},
		{ retentionMs: 0 },
	);

	test("work of every end is trimmed", async (scene) => {
		const policy = { retentionMs: 1000, timeouts: { queueMs: 500 } };
		const failed = await scene.start({ policy });
		await scene.backend.leases.fail(failed.id, { fence: failed.fence, reason: "broken" });
		const cancelled = await scene.create({ policy });
		await scene.backend.executions.cancel(cancelled);
		const expired = await scene.create({ policy });
		await scene.clock.advance(1500);
		for (const id of [failed.id, cancelled, expired]) await expectGone(scene, id);
		expect(await scene.listed()).toEqual([]);
	});
}

async function expectGone(scene: Scene, id: string): Promise<void> {
	const { backend } = scene;
	for (const call of [
		() => backend.executions.get(id),
		() => backend.executions.events(id),
		() => backend.executions.attempts(id),
	]) {
		expect((await refusal(call())).code).toBe("execution_not_found");
	}
	expect(await scene.listed()).not.toContain(id);
}
