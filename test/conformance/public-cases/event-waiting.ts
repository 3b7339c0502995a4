import { expect } from "vitest";
import type { EventPage } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

/** Waiting for what happens next to one execution. */
export function eventWaitingCases(test: PublicCase): void {
	test("what is there already is given at once", async (scene) => {
		const id = await scene.create();
		const { events } = await scene.ff.events(id, { waitMs: 30_000 });
		expect(events.map(({ type }) => type)).toEqual(["created"]);
	});

	test("a wait ends with the next event, and no sooner", async (scene) => {
		const { id, fence } = await scene.start();
		const waiting = follow(scene, id, await endOf(scene, id));
		await scene.clock.settle();
		await scene.backend.leases.progress(id, { fence, percent: 50 });
		await scene.backend.leases.renew({ leases: [{ executionId: id, ...fence }] });
		await scene.clock.settle();
		expect(waiting.answer).toBeUndefined();
		await scene.backend.leases.complete(id, { fence });
		expect((await waiting.page).events.map(({ type }) => type)).toEqual(["completed"]);
	});

	test("a wait goes on from cursor to cursor without a gap or a repeat", async (scene) => {
		const { id } = await scene.start();
		let cursor = await endOf(scene, id);
		const seen: string[] = [];
		for (const change of [
			() => scene.backend.executions.setTags(id, { set: { a: "1" } }),
			() => scene.backend.executions.changePriority(id, { priority: 5 }),
			() => scene.backend.executions.cancel(id, { graceMs: 1000 }),
			() => scene.clock.advance(1000),
			() => scene.backend.executions.setTags(id, { remove: ["a"] }),
			() => scene.backend.executions.replay(id),
		]) {
			const waiting = follow(scene, id, cursor);
			await scene.clock.settle();
			await change();
			const page = await waiting.page;
			seen.push(...page.events.map(({ type }) => type));
			cursor = page.nextCursor;
		}
		expect(seen).toEqual([
			"tags_changed",
			"priority_changed",
			"cancel_requested",
			"cancelled",
			"tags_changed",
			"replayed",
		]);
	});

	test("a wait ends empty, with the same cursor, when its time is over", async (scene) => {
		const id = await scene.create();
		const cursor = await endOf(scene, id);
		const waiting = follow(scene, id, cursor, 1000);
		await scene.clock.advance(999);
		expect(waiting.answer).toBeUndefined();
		await scene.clock.advance(1);
		expect(await waiting.page).toEqual({ events: [], nextCursor: cursor });
	});

	test("waitMs 0 does not wait", async (scene) => {
		const id = await scene.create();
		const cursor = await endOf(scene, id);
		expect(await scene.backend.executions.events(id, { cursor, waitMs: 0 })).toEqual({
			events: [],
			nextCursor: cursor,
		});
	});

	test("a wait that is called off throws the reason it was called off with", async (scene) => {
		const id = await scene.create();
		const controller = new AbortController();
		const reason = new Error("no patience");
		const waiting = follow(scene, id, await endOf(scene, id), 30_000, controller.signal);
		await scene.clock.settle();
		controller.abort(reason);
		expect(await waiting.page.catch((error: unknown) => error)).toBe(reason);
	});

	test("waiting for events of work that is deleted meanwhile ends", async (scene) => {
		const { id } = await scene.finished();
		const waiting = follow(scene, id, await endOf(scene, id));
		await scene.clock.settle();
		await scene.backend.executions.delete(id);
		expect((await refusal(waiting.page)).code).toBe("execution_not_found");
	});

	test("many waits for one execution all hear of its event", async (scene) => {
		const id = await scene.create();
		const cursor = await endOf(scene, id);
		const waits = Array.from({ length: 20 }, () => follow(scene, id, cursor));
		await scene.clock.settle();
		await scene.backend.executions.cancel(id);
		for (const { page } of waits) expect((await page).events.map(({ type }) => type)).toEqual(["cancelled"]);
	});

	test("a cursor of another execution, or one that was changed, is refused by name", async (scene) => {
		const [id, other] = [await scene.create(), await scene.create()];
		const own = await endOf(scene, id);
		const middle = Math.floor(own.length / 2);
		const changed = own.slice(0, middle) + (own[middle] === "A" ? "B" : "A") + own.slice(middle + 1);
		for (const cursor of [await endOf(scene, other), changed, own.slice(0, -4)]) {
			const error = await refusal(scene.backend.executions.events(id, { cursor }));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field: "cursor" } });
		}
	});
}

/** Begins to wait; `answer` is what came, as soon as it has. */
function follow(scene: Scene, id: string, cursor: string, waitMs = 30_000, signal?: AbortSignal) {
	const following: { page: Promise<EventPage>; answer: EventPage | undefined } = {
		page: scene.backend.executions.events(id, { cursor, waitMs }, signal),
		answer: undefined,
	};
	following.page.then(
		(page) => (following.answer = page),
		() => {},
	);
	return following;
}

const endOf = async (scene: Scene, id: string): Promise<string> =>
	(await scene.backend.executions.events(id)).nextCursor;
