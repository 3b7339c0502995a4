import { expect } from "vitest";
import type { FramePage } from "../../../src/index.ts";
import { type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";
import { append, texts } from "../streamed.ts";

const WAIT = 30_000;

/** Begins to wait for frames; `answer` is what came, as soon as it has. */
function tail(scene: Scene, id: string, request: object = {}, attempt = 0, signal?: AbortSignal) {
	const tailing: { page: Promise<FramePage>; answer: FramePage | undefined } = {
		page: scene.backend.streams.tail(id, attempt, { waitMs: WAIT, ...request }, signal),
		answer: undefined,
	};
	tailing.page.then(
		(page) => (tailing.answer = page),
		() => {},
	);
	return tailing;
}

/** Follows a stream; `seen` grows as frames come, and `ended` is true once there are no more. */
function follow(scene: Scene, id: string, options: { after?: string; attempt?: number; signal?: AbortSignal } = {}) {
	const { attempt = 0, ...rest } = options;
	const following = {
		seen: [] as (string | undefined)[],
		last: {} as FramePage,
		ended: false,
		error: undefined as unknown,
	};
	const run = async () => {
		for await (const page of scene.backend.streams.follow(id, attempt, rest)) {
			following.seen.push(...texts(page.frames));
			following.last = page;
		}
	};
	const done = run()
		.catch((error: unknown) => (following.error = error))
		.finally(() => (following.ended = true));
	return Object.assign(following, { done });
}

export function streamTailCases(test: PublicCase): void {
	test("what is there already is given at once", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a", "b");
		const page = await scene.backend.streams.tail(held.id, 0, { waitMs: WAIT });
		expect(texts(page.frames)).toEqual(["a", "b"]);
		expect(page).not.toHaveProperty("closedAt");
	});

	test("a tail gives what is behind an id, without that one", async (scene) => {
		const held = await scene.start();
		const { lastId } = await append(scene, held, "a", "b");
		await append(scene, held, "c");
		const { streams } = scene.backend;
		expect(texts((await streams.tail(held.id, 0, { after: lastId })).frames)).toEqual(["c"]);
		expect(texts((await streams.tail(held.id, 0, { after: "start" })).frames)).toEqual(["a", "b", "c"]);
		expect(texts((await streams.tail(held.id, 0, { after: "end" })).frames)).toEqual([]);
	});

	test("waitMs 0 returns at once: no frames and not closed is still open", async (scene) => {
		const held = await scene.start();
		expect(await scene.backend.streams.tail(held.id, 0, { waitMs: 0 })).toEqual({ frames: [] });
		expect(await scene.backend.streams.tail(held.id, 0)).toEqual({ frames: [] });
	});

	test("a tail wakes on an append, and no sooner", async (scene) => {
		const held = await scene.start();
		const { lastId } = await append(scene, held, "a");
		const tailing = tail(scene, held.id, { after: lastId });
		await scene.clock.settle();
		await scene.backend.leases.progress(held.id, { fence: held.fence, percent: 50 });
		await scene.clock.settle();
		expect(tailing.answer).toBeUndefined();
		await append(scene, held, "b", "c");
		expect(texts((await tailing.page).frames)).toEqual(["b", "c"]);
	});

	test("a tail from the end waits for what comes from now on", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a");
		const tailing = tail(scene, held.id, { after: "end" });
		await scene.clock.settle();
		await append(scene, held, "b");
		expect(texts((await tailing.page).frames)).toEqual(["b"]);
	});

	test("a tail from the end that found nothing says where that was: who goes on from there misses nothing", async (scene) => {
		const held = await scene.start();
		const { streams } = scene.backend;
		expect(await streams.tail(held.id, 0, { after: "end" })).toEqual({ frames: [], after: "start" });
		const { lastId } = await append(scene, held, "a", "b");
		expect(await streams.tail(held.id, 0, { after: "end" })).toEqual({ frames: [], after: lastId });
		const tailing = tail(scene, held.id, { after: "end", waitMs: 1000 });
		await scene.clock.advance(1000);
		expect(await tailing.page).toEqual({ frames: [], after: lastId });
		await append(scene, held, "c");
		const page = await streams.tail(held.id, 0, { after: lastId });
		expect(texts(page.frames)).toEqual(["c"]);
		expect(page).not.toHaveProperty("after");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		expect(await streams.tail(held.id, 0, { after: "end", waitMs: 1000 })).toMatchObject({
			frames: [],
			closeReason: "completed",
		});
	});

	for (const [what, end, closeReason] of [
		["complete", (scene, { id, fence }) => scene.backend.leases.complete(id, { fence }), "completed"],
		["fail", (scene, { id, fence }) => scene.backend.leases.fail(id, { fence, reason: "broken" }), "failed"],
		["cancel", (scene, { id }) => scene.backend.executions.cancel(id, { mode: "force" }), "cancelled"],
		["lease loss", (scene) => scene.clock.advance(20_000), "lease_expired"],
		["revocation", (scene, { id }) => scene.backend.executions.revokeLease(id), "lease_revoked"],
	] satisfies [string, (scene: Scene, held: Parameters<typeof append>[1]) => Promise<unknown>, string][]) {
		test(`a tail wakes on close, by ${what}`, async (scene) => {
			const held = await scene.start({}, { leaseMs: 20_000 });
			const tailing = tail(scene, held.id);
			await scene.clock.settle();
			expect(tailing.answer).toBeUndefined();
			await end(scene, held);
			expect(await tailing.page).toEqual({ frames: [], closedAt: scene.now, closeReason });
		});

		test(`one that follows is given the rest and then the close, by ${what}`, async (scene) => {
			const held = await scene.start({}, { leaseMs: 20_000 });
			const following = follow(scene, held.id);
			await scene.clock.settle();
			await append(scene, held, "a");
			await append(scene, held, "b");
			await end(scene, held);
			await following.done;
			expect(following.seen).toEqual(["a", "b"]);
			expect(following.last).toMatchObject({ closedAt: scene.now, closeReason });
		});
	}

	test("a tail of a closed stream gives what is left and the close with it", async (scene) => {
		const held = await scene.start();
		const { lastId } = await append(scene, held, "a", "b");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		const closed = { closedAt: scene.now, closeReason: "completed" };
		expect(await scene.backend.streams.tail(held.id, 0, { waitMs: WAIT })).toMatchObject(closed);
		expect(await scene.backend.streams.tail(held.id, 0, { after: lastId, waitMs: WAIT })).toEqual({
			frames: [],
			...closed,
		});
		const following = follow(scene, held.id);
		await following.done;
		expect(following.seen).toEqual(["a", "b"]);
	});

	test("a tail ends empty when its time is over", async (scene) => {
		const held = await scene.start();
		const tailing = tail(scene, held.id, { waitMs: 1000 });
		await scene.clock.advance(999);
		expect(tailing.answer).toBeUndefined();
		await scene.clock.advance(1);
		expect(await tailing.page).toEqual({ frames: [] });
	});

	test("a tail that begins before the first attempt waits for it", async (scene) => {
		const id = await scene.create();
		const tailing = tail(scene, id);
		const following = follow(scene, id);
		await scene.clock.settle();
		const held = await scene.take();
		await scene.clock.settle();
		expect(tailing.answer).toBeUndefined();
		await append(scene, held, "a");
		expect(texts((await tailing.page).frames)).toEqual(["a"]);
		await scene.backend.leases.complete(id, { fence: held.fence });
		await following.done;
		expect(following.seen).toEqual(["a"]);
	});

	test("a tail of an attempt that will never be ends with the execution", async (scene) => {
		const id = await scene.create();
		const tailing = tail(scene, id);
		const following = follow(scene, id);
		await scene.clock.settle();
		await scene.backend.executions.cancel(id);
		expect((await refusal(tailing.page)).code).toBe("attempt_not_found");
		await following.done;
		expect(following.error).toMatchObject({ code: "attempt_not_found" });
	});

	test("a tail goes on over a suspension", async (scene) => {
		const held = await scene.start();
		const following = follow(scene, held.id);
		await append(scene, held, "before");
		await scene.backend.leases.suspend(held.id, {
			fence: held.fence,
			reason: "waiting_for_approval",
			condition: { signal: "go" },
			waitpoints: [{ key: "approval" }],
		});
		await scene.clock.settle();
		expect(following.ended).toBe(false);
		await scene.backend.waitpoints.resume(held.id);
		const again = await scene.take();
		await append(scene, again, "after");
		await scene.backend.leases.complete(held.id, { fence: again.fence });
		await following.done;
		expect(following.seen).toEqual(["before", "after"]);
	});

	test("a tail of one attempt is told nothing of the next", async (scene) => {
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 0 } } };
		const first = await scene.start({ policy });
		const [one, two] = [follow(scene, first.id), follow(scene, first.id, { attempt: 1 })];
		await append(scene, first, "first");
		await scene.backend.leases.fail(first.id, { fence: first.fence, reason: "broken" });
		await scene.clock.advance(1);
		const second = await scene.take();
		await append(scene, second, "second");
		await scene.backend.leases.complete(first.id, { fence: second.fence });
		await Promise.all([one.done, two.done]);
		expect([one.seen, two.seen]).toEqual([["first"], ["second"]]);
		expect([one.last.closeReason, two.last.closeReason]).toEqual(["failed", "completed"]);
	});

	test("long-polls from id to id give every frame once", async (scene) => {
		const held = await scene.start();
		const seen: (string | undefined)[] = [];
		let after = "start";
		for (let n = 0; n < 10; n++) {
			const tailing = tail(scene, held.id, { after });
			await scene.clock.settle();
			await append(scene, held, `${n}`, `${n}'`);
			const { frames } = await tailing.page;
			seen.push(...texts(frames));
			after = frames.at(-1)?.id ?? after;
		}
		expect(seen).toEqual(Array.from({ length: 10 }, (_, n) => [`${n}`, `${n}'`]).flat());
	});

	test("a page of a tail ends at its limit and says where to read on", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a", "b", "c");
		const page = await scene.backend.streams.tail(held.id, 0, { limit: 2 });
		expect(texts(page.frames)).toEqual(["a", "b"]);
		const rest = await scene.backend.streams.read(held.id, 0, { from: page.nextFrom ?? "" });
		expect(texts(rest.frames)).toEqual(["c"]);
		expect(rest).not.toHaveProperty("nextFrom");
	});

	test("many tails of one stream all hear of it", async (scene) => {
		const held = await scene.start();
		const tails = Array.from({ length: 20 }, () => tail(scene, held.id));
		const followers = Array.from({ length: 20 }, () => follow(scene, held.id));
		await scene.clock.settle();
		await append(scene, held, "a");
		for (const { page } of tails) expect(texts((await page).frames)).toEqual(["a"]);
		await append(scene, held, "b");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		for (const { done, ...following } of followers) {
			await done;
			expect(following.seen).toEqual(["a", "b"]);
		}
	});

	test("followers that begin at different places are each given what is theirs", async (scene) => {
		const held = await scene.start();
		const { lastId } = await append(scene, held, "a", "b");
		await append(scene, held, "c");
		const all = follow(scene, held.id);
		const some = follow(scene, held.id, { after: lastId });
		const none = follow(scene, held.id, { after: "end" });
		await scene.clock.settle();
		await append(scene, held, "d");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await Promise.all([all.done, some.done, none.done]);
		expect([all.seen, some.seen, none.seen]).toEqual([["a", "b", "c", "d"], ["c", "d"], ["d"]]);
	});

	test("one that follows a long stream is given all of it", async (scene) => {
		const held = await scene.start();
		const expected: string[] = [];
		for (let n = 0; n < 12; n++) {
			const frames = Array.from({ length: 200 }, (_, k) => `${n}.${k}`);
			expected.push(...frames);
			await append(scene, held, ...frames);
		}
		const following = follow(scene, held.id);
		await scene.clock.settle();
		await append(scene, held, "last");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await following.done;
		expect(following.seen).toEqual([...expected, "last"]);
	});

	test("one that is slow to read loses nothing, and holds up nobody", async (scene) => {
		const held = await scene.start();
		const slow = scene.backend.streams.follow(held.id, 0)[Symbol.asyncIterator]();
		const first = slow.next();
		await scene.clock.settle();
		const quick = follow(scene, held.id);
		const expected: string[] = [];
		for (let n = 0; n < 8; n++) {
			const frames = Array.from({ length: 200 }, (_, k) => `${n}.${k}`);
			expected.push(...frames);
			await append(scene, held, ...frames);
		}
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await quick.done;
		expect(quick.seen).toEqual(expected);
		const seen = texts((await first).value.frames);
		for (let next = await slow.next(); !next.done; next = await slow.next()) seen.push(...texts(next.value.frames));
		expect(seen).toEqual(expected);
	});

	test("frames of all modes come to whoever follows", async (scene) => {
		const held = await scene.start();
		const tailing = tail(scene, held.id);
		await scene.clock.settle();
		await append(scene, held, { mode: "best_effort", text: "a" }, { mode: "summary", patch: { b: 1 } }, "c");
		expect((await tailing.page).frames.map(({ mode }) => mode)).toEqual(["best_effort", "summary", "durable"]);
	});

	test("a tail that is called off ends", async (scene) => {
		const held = await scene.start();
		const controller = new AbortController();
		const following = follow(scene, held.id, { signal: controller.signal });
		const tailing = tail(scene, held.id, {}, 0, controller.signal);
		await scene.clock.settle();
		const reason = new Error("no patience");
		controller.abort(reason);
		await following.done;
		expect(await tailing.page.catch((error: unknown) => error)).toBe(reason);
		expect([following.ended, following.error]).toEqual([true, undefined]);
		await append(scene, held, "a");
		expect(following.seen).toEqual([]);
	});

	test("tailing work that is deleted meanwhile ends", async (scene) => {
		const id = await scene.create();
		const tailing = tail(scene, id, {}, 1);
		const held = await scene.take();
		await scene.backend.leases.complete(id, { fence: held.fence });
		expect((await refusal(tailing.page)).code).toBe("attempt_not_found");
		await scene.backend.executions.delete(id);
		expect((await refusal(tail(scene, id).page)).code).toBe("execution_not_found");
		expect((await refusal(tail(scene, unknownId).page)).code).toBe("execution_not_found");
	});

	for (const [what, request, field] of [
		["a wait over 30 s", { waitMs: 30_001 }, "waitMs"],
		["a wait below 0", { waitMs: -1 }, "waitMs"],
		["a limit of 0", { limit: 0 }, "limit"],
		["a limit over 10000", { limit: 10_001 }, "limit"],
		["an after that is no id", { after: "now" }, "after"],
		["an empty after", { after: "" }, "after"],
	] as const) {
		test(`${what} is refused, not clamped`, async (scene) => {
			const held = await scene.start();
			expect(await refusal(scene.backend.streams.tail(held.id, 0, request))).toMatchObject({
				code: "invalid_input",
				status: 400,
				details: { field },
			});
		});
	}
}
