import { expect } from "vitest";
import { type PublicCase, refusal } from "../scene.ts";

/** Changing the priority of work that is there. */
export function priorityCases(test: PublicCase): void {
	test("work that waits moves in its queue at once, up and down", async (scene) => {
		const [a, b, c] = [await scene.create({ priority: 5 }), await scene.create(), await scene.create()];
		expect(await scene.ff.changePriority(c, { priority: 7 })).toEqual({ publicState: "waiting", priority: 7 });
		await scene.ff.changePriority(a, { priority: 0 });
		await scene.ff.changePriority(b, { priority: 1 });
		expect((await scene.claim({ max: 3 })).map(({ id }) => id)).toEqual([c, b, a]);
	});

	test("among equal priorities age decides, however they came to be equal", async (scene) => {
		const old = await scene.create();
		await scene.clock.advance(1);
		const young = await scene.create({ priority: 3 });
		await scene.backend.executions.changePriority(old, { priority: 3 });
		expect((await scene.claim({ max: 2 })).map(({ id }) => id)).toEqual([old, young]);
	});

	test("delayed work has its new priority when its time comes", async (scene) => {
		const delayed = await scene.create({ delayMs: 100 });
		const waiting = await scene.create({ priority: 5 });
		expect(await scene.backend.executions.changePriority(delayed, { priority: 6 })).toEqual({
			publicState: "delayed",
			priority: 6,
		});
		await scene.clock.advance(100);
		expect((await scene.claim({ max: 2 })).map(({ id }) => id)).toEqual([delayed, waiting]);
	});

	test("held work keeps its lease and has its new priority when it is handed back", async (scene) => {
		const { id, fence } = await scene.start();
		const other = await scene.create({ priority: 5 });
		expect(await scene.backend.executions.changePriority(id, { priority: 6 })).toEqual({
			publicState: "active",
			priority: 6,
		});
		expect(await scene.get(id)).toMatchObject({ publicState: "active", priority: 6, lease: { id: fence.leaseId } });
		await scene.backend.leases.release(id, { fence });
		expect((await scene.claim({ max: 2 })).map((each) => each.id)).toEqual([id, other]);
	});

	test(
		"a change is one event with the old and the new priority and who made it",
		async (scene) => {
			const id = await scene.create({ priority: 2 });
			await scene.clock.advance(50);
			await scene.backend.executions.changePriority(id, { priority: 4 });
			const events = await scene.events(id);
			expect(events).toHaveLength(2);
			expect(events[1]).toMatchObject({ type: "priority_changed", from: 2, to: 4, actor: "ops", at: scene.now });
		},
		{ actor: "ops" },
	);

	test("a priority is clamped to 0..9000", async (scene) => {
		const id = await scene.create();
		for (const [priority, counts] of [
			[9001, 9000],
			[Number.MAX_SAFE_INTEGER, 9000],
			[-1, 0],
		] as const) {
			expect(await scene.backend.executions.changePriority(id, { priority })).toMatchObject({ priority: counts });
			expect((await scene.get(id)).priority).toBe(counts);
		}
	});

	test("a priority it has already, or is clamped to, is no change and no event", async (scene) => {
		const id = await scene.create({ priority: 9000 });
		for (const priority of [9000, 10_000]) {
			expect(await scene.backend.executions.changePriority(id, { priority })).toEqual({
				publicState: "waiting",
				priority: 9000,
			});
		}
		expect(await scene.eventTypes(id)).toEqual(["created"]);
	});

	test("ended work is refused with its outcome, and can be changed again when it is replayed", async (scene) => {
		const { id } = await scene.finished({ priority: 3 });
		const error = await refusal(scene.backend.executions.changePriority(id, { priority: 4 }));
		expect(error).toMatchObject({
			code: "execution_not_active",
			status: 409,
			details: { executionId: id, publicState: "completed", outcome: "success" },
		});
		expect((await scene.get(id)).priority).toBe(3);
		await scene.backend.executions.replay(id);
		await scene.backend.executions.changePriority(id, { priority: 4 });
		expect((await scene.get(id)).priority).toBe(4);
	});

	test("a change disturbs nobody: no lease, timer or place in a list", async (scene) => {
		const a = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		await scene.clock.advance(1);
		const b = await scene.create();
		await scene.clock.advance(500);
		await scene.backend.executions.changePriority(a, { priority: 9 });
		expect(await scene.listed()).toEqual([b, a]);
		await scene.clock.advance(498);
		expect((await scene.get(a)).publicState).toBe("waiting");
		await scene.clock.advance(1);
		expect((await scene.get(a)).publicState).toBe("expired");
	});
}
