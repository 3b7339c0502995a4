import { expect } from "vitest";
import type { LanePage, LaneView } from "../../../src/index.ts";
import type { PublicCase, Scene } from "../scene.ts";

async function lane(scene: Scene, name = "default"): Promise<LaneView | undefined> {
	return (await scene.ff.lanes()).lanes.find((each) => each.lane === name);
}

export function laneCases(test: PublicCase): void {
	test("without work there are no lanes", async (scene) => {
		expect(await scene.ff.lanes()).toEqual({ lanes: [] });
	});

	test("a lane is there from its first use, open and with default settings", async (scene) => {
		await scene.create({ lane: "media" });
		expect(await scene.ff.lanes()).toEqual({
			lanes: [
				{ lane: "media", state: "active", agingMs: 1e12, depth: { waiting: 1 }, oldestWaitingMs: 0, perMinute: 0 },
			],
		});
	});

	test("depth counts executions by their state, lane by lane, tenant by tenant", async (scene) => {
		await scene.backend.executions.createMany([
			...Array.from({ length: 20 }, () => ({ kind: "job" })),
			...Array.from({ length: 3 }, () => ({ kind: "job", lane: "b", delayMs: 1000 })),
			...Array.from({ length: 5 }, () => ({ kind: "job", lane: "b: odd name", namespace: "n" })),
		]);
		const held = await scene.claim({ max: 4 });
		const fences = held.map(({ id, lease }) => ({ id, fence: { leaseId: lease.id, epoch: lease.epoch } }));
		const [one, two, three] = fences as [(typeof fences)[0], (typeof fences)[0], (typeof fences)[0]];
		await scene.backend.leases.complete(one.id, { fence: one.fence });
		await scene.backend.leases.fail(two.id, { fence: two.fence, reason: "broken" });
		await scene.backend.executions.cancel(three.id, { mode: "force" });
		const { lanes } = await scene.ff.lanes();
		expect(lanes.map((each) => [each.lane, each.depth])).toEqual([
			["b", { delayed: 3 }],
			["default", { waiting: 16, active: 1, completed: 1, failed: 1, cancelled: 1 }],
		]);
		const others = await scene.ff.lanes({ namespace: "n" });
		expect(others.lanes.map((each) => [each.lane, each.depth])).toEqual([["b: odd name", { waiting: 5 }]]);
		await scene.clock.advance(1000);
		expect((await lane(scene, "b"))?.depth).toEqual({ waiting: 3 });
	});

	test("lanes are listed by name, page by page, with all that is in them", async (scene) => {
		const names = ["a", "a b", "a+", "b", "b0", "c", "d", "~"];
		for (const name of names) await scene.create({ lane: name });
		await scene.create({ lane: "d", delayMs: 1000 });
		await scene.backend.lanes.pause("paused");
		const found: (readonly [string, LaneView["depth"]])[] = [];
		const sizes: number[] = [];
		let cursor: { cursor?: string } | undefined = {};
		while (cursor) {
			const { lanes, nextCursor }: LanePage = await scene.ff.lanes({ limit: 3, ...cursor });
			for (const each of lanes) found.push([each.lane, each.depth]);
			sizes.push(lanes.length);
			cursor = nextCursor === undefined ? undefined : { cursor: nextCursor };
			// One that comes to an earlier page is not seen any more, and hides nothing.
			if (sizes.length === 1) await scene.create({ lane: "A" });
		}
		expect(sizes).toEqual([3, 3, 3]);
		expect(found).toEqual([
			["a", { waiting: 1 }],
			["a b", { waiting: 1 }],
			["a+", { waiting: 1 }],
			["b", { waiting: 1 }],
			["b0", { waiting: 1 }],
			["c", { waiting: 1 }],
			["d", { waiting: 1, delayed: 1 }],
			["paused", {}],
			["~", { waiting: 1 }],
		]);
	});

	test("of hundreds of lanes each page tells what is in its own", async (scene) => {
		const names = Array.from({ length: 300 }, (_, n) => `lane-${String(n).padStart(3, "0")}`);
		await scene.backend.executions.createMany(
			names.flatMap((name, n) => [
				{ kind: "job", lane: name },
				...Array.from({ length: n % 3 }, () => ({ kind: "job", lane: name, delayMs: 1000 })),
			]),
		);
		const first = await scene.ff.lanes();
		expect(first.lanes.map((each) => each.lane)).toEqual(names.slice(0, 100));
		const rest = await scene.ff.lanes({ limit: 1000, cursor: first.nextCursor ?? "" });
		expect(rest.nextCursor).toBeUndefined();
		expect(rest.lanes.map(({ lane: name, depth }) => [name, depth])).toEqual(
			names.slice(100).map((name, n) => {
				const delayed = (n + 100) % 3;
				return [name, { waiting: 1, ...(delayed > 0 ? { delayed } : undefined) }];
			}),
		);
	});

	test("a lane goes with the last execution in it", async (scene) => {
		const { id } = await scene.finished({ lane: "media" });
		expect((await lane(scene, "media"))?.depth).toEqual({ completed: 1 });
		await scene.backend.executions.delete(id);
		expect(await scene.ff.lanes()).toEqual({ lanes: [] });
	});

	test("the oldest that waits is told by its creation, whatever its priority", async (scene) => {
		await scene.create();
		await scene.clock.advance(3000);
		await scene.create({ priority: 9 });
		await scene.create({ delayMs: 500_000 });
		await scene.clock.advance(2000);
		await scene.create();
		expect((await lane(scene))?.oldestWaitingMs).toBe(5000);
		// The urgent one is claimed first, then the old one.
		await scene.take();
		expect((await lane(scene))?.oldestWaitingMs).toBe(5000);
		await scene.take();
		expect((await lane(scene))?.oldestWaitingMs).toBe(0);
		await scene.take();
		expect(await lane(scene)).not.toHaveProperty("oldestWaitingMs");
	});

	test("work that comes back is as old as it is", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.clock.advance(7000);
		await scene.backend.leases.release(id, { fence });
		expect((await lane(scene))?.oldestWaitingMs).toBe(7000);
	});

	test("endings of the last minute are counted, however they came about", async (scene) => {
		await scene.finished();
		await scene.clock.advance(20_000);
		const failing = await scene.start();
		await scene.backend.leases.fail(failing.id, { fence: failing.fence, reason: "broken" });
		await scene.backend.executions.cancel(await scene.create());
		await scene.finished({ lane: "other" });
		await scene.finished({ namespace: "n" });
		const retried = await scene.start({ policy: { retry: { backoff: { type: "fixed", delayMs: 1e9 } } } });
		await scene.backend.leases.fail(retried.id, { fence: retried.fence, reason: "to be retried" });
		expect((await lane(scene))?.perMinute).toBe(3);
		expect((await lane(scene, "other"))?.perMinute).toBe(1);
		await scene.clock.advance(40_000);
		expect((await lane(scene))?.perMinute).toBe(2);
		await scene.clock.advance(20_000);
		expect((await lane(scene))?.perMinute).toBe(0);
	});
}
