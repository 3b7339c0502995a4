import { expect } from "vitest";
import type { FollowedEvent } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

/** Events of an execution as they come. */
export function followingCases(test: PublicCase): void {
	test("following tells what happened, then what happens, and ends with the signal", async (scene) => {
		const { id, fence } = await scene.start();
		const following = follow(scene, id);
		await scene.clock.settle();
		expect(types(following.heard)).toEqual(["created", "claimed"]);
		await scene.backend.leases.complete(id, { fence });
		await scene.clock.settle();
		expect(types(following.heard)).toEqual(["created", "claimed", "completed"]);
		expect(following.heard.map(({ event }) => event)).toEqual(await scene.events(id));
		following.stop();
		await following.ended;
	});

	test("following goes on over the end of the work when it is replayed", async (scene) => {
		const { id } = await scene.finished();
		const following = follow(scene, id);
		await scene.clock.settle();
		await scene.backend.executions.replay(id);
		await scene.clock.settle();
		expect(types(following.heard).at(-1)).toBe("replayed");
		following.stop();
		await following.ended;
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

	test("following work that is deleted ends with a refusal", async (scene) => {
		const { id } = await scene.finished();
		const following = follow(scene, id);
		const ended = refusal(following.ended);
		await scene.clock.settle();
		await scene.backend.executions.delete(id);
		expect((await ended).code).toBe("execution_not_found");
	});
}

function follow(scene: Scene, id: string, cursor?: string) {
	const controller = new AbortController();
	const heard: FollowedEvent[] = [];
	const ended = (async () => {
		const options = { signal: controller.signal, ...(cursor === undefined ? undefined : { cursor }) };
		for await (const followed of scene.ff.follow(id, options)) heard.push(followed);
	})();
	return { heard, ended, stop: () => controller.abort() };
}

const types = (heard: FollowedEvent[]): string[] => heard.map(({ event }) => event.type);
