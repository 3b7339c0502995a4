import { expect } from "vitest";
import type { FollowedEvent, ProgressNotice } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

/** Events of an execution as they come. */
export function followingCases(test: PublicCase): void {
	test("following tells what happened, then what happens, and ends with the execution", async (scene) => {
		const { id, fence } = await scene.start();
		const following = follow(scene, id);
		await scene.clock.settle();
		expect(types(following.heard)).toEqual(["created", "claimed"]);
		await scene.backend.leases.complete(id, { fence });
		await following.ended;
		expect(types(following.heard)).toEqual(["created", "claimed", "completed"]);
		expect(following.heard.map(({ event }) => event)).toEqual(await scene.events(id));
	});

	test("following ends with the signal, however far the work is", async (scene) => {
		const { id } = await scene.start();
		const following = follow(scene, id);
		await scene.clock.settle();
		following.stop();
		await following.ended;
		expect(types(following.heard)).toEqual(["created", "claimed"]);
	});

	test("following ended work tells all of it and ends; after a replay it goes on from there", async (scene) => {
		const { id } = await scene.finished();
		await scene.backend.executions.setTags(id, { set: { seen: "yes" } });
		const first = follow(scene, id);
		await first.ended;
		expect(types(first.heard)).toEqual(["created", "claimed", "completed", "tags_changed"]);
		const cursor = first.heard.at(-1)?.cursor;
		const nothing = follow(scene, id, cursor);
		await nothing.ended;
		expect(nothing.heard).toEqual([]);
		await scene.backend.executions.replay(id);
		const again = follow(scene, id, cursor);
		await scene.clock.settle();
		expect(types(again.heard)).toEqual(["replayed"]);
		await scene.backend.executions.cancel(id);
		await again.ended;
		expect(types(again.heard)).toEqual(["replayed", "cancelled"]);
	});

	test("following tells a long history to its end", async (scene) => {
		const id = await scene.create();
		for (let n = 0; n < 250; n++) await scene.backend.executions.setTags(id, { set: { n: String(n) } });
		await scene.backend.executions.cancel(id);
		const following = follow(scene, id);
		await following.ended;
		expect(following.heard.map(({ event }) => event.seq)).toEqual(Array.from({ length: 252 }, (_, n) => n + 1));
	});

	test("a follower is told how far the work is, the latest of each moment, and nothing twice", async (scene) => {
		const { id, fence } = await scene.start({}, { leaseMs: 3_600_000 });
		const progress = (percent: number, message?: string) =>
			scene.backend.leases.progress(id, { fence, percent, ...(message === undefined ? undefined : { message }) });
		await progress(1);
		const following = follow(scene, id);
		await scene.clock.settle();
		// What was there before is not news.
		expect(following.progress).toEqual([]);
		await progress(10, "reading");
		await scene.clock.settle();
		expect(following.progress).toEqual([{ executionId: id, percent: 10, message: "reading", at: scene.now }]);
		await progress(10);
		for (const percent of [11, 12, 13]) {
			await progress(percent);
			await scene.clock.settle();
		}
		expect(following.progress).toHaveLength(1);
		await scene.clock.advance(250);
		expect(following.progress.map(({ percent }) => percent)).toEqual([10, 13]);
		await progress(99);
		await scene.backend.leases.complete(id, { fence });
		await following.ended;
		expect(following.progress.at(-1)).toMatchObject({ percent: 99, message: "reading" });
		expect(types(following.heard)).toEqual(["created", "claimed", "completed"]);
	});

	test("a run tells how far it is until it has ended", async (scene) => {
		const { id, fence } = await scene.start({}, { leaseMs: 3_600_000 });
		const heard: (number | undefined)[] = [];
		const ended = (async () => {
			for await (const { percent } of scene.ff.run(id).progress()) heard.push(percent);
		})();
		await scene.clock.settle();
		for (const percent of [25, 50]) {
			await scene.backend.leases.progress(id, { fence, percent });
			await scene.clock.advance(250);
		}
		await scene.backend.leases.complete(id, { fence });
		await ended;
		expect(heard).toEqual([25, 50]);
		for await (const _ of scene.ff.run(id).progress()) expect.fail("told of ended work");
		await expect(scene.ff.run(unknownId).progress().next()).rejects.toMatchObject({ code: "execution_not_found" });
	});

	test("following from a cursor begins behind it, whoever gave it", async (scene) => {
		const { id, fence } = await scene.start();
		const { nextCursor } = await scene.backend.executions.events(id, { limit: 1 });
		const first = follow(scene, id, nextCursor);
		await scene.clock.settle();
		expect(types(first.heard)).toEqual(["claimed"]);
		first.stop();
		await first.ended;
		await scene.backend.leases.complete(id, { fence });
		const again = follow(scene, id, first.heard[0]?.cursor);
		await scene.clock.settle();
		expect(types(again.heard)).toEqual(["completed"]);
		again.stop();
		await again.ended;
	});

	test("following what is not there, or from a cursor that never was, is refused", async (scene) => {
		expect((await refusal(follow(scene, unknownId).ended)).code).toBe("execution_not_found");
		expect((await refusal(follow(scene, "nonsense").ended)).details).toMatchObject({ field: "id" });
		const id = await scene.create();
		expect((await refusal(follow(scene, id, "nonsense").ended)).details).toMatchObject({ field: "cursor" });
	});
}

function follow(scene: Scene, id: string, cursor?: string) {
	const controller = new AbortController();
	const heard: FollowedEvent[] = [];
	const progress: ProgressNotice[] = [];
	const ended = (async () => {
		const options = {
			signal: controller.signal,
			onProgress: (told: ProgressNotice) => progress.push(told),
			...(cursor === undefined ? undefined : { cursor }),
		};
		for await (const followed of scene.ff.follow(id, options)) heard.push(followed);
	})();
	return { heard, progress, ended, stop: () => controller.abort() };
}

const types = (heard: FollowedEvent[]): string[] => heard.map(({ event }) => event.type);
