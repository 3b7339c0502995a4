import { expect } from "vitest";
import { foreignFence, type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";
import { append, framesOf, texts, textsOf } from "../streamed.ts";

const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => String(from + n));

/** How an attempt may end, and what is said of its stream then. */
const ENDS: Record<string, [end: (scene: Scene, held: Held) => Promise<unknown>, reason: string]> = {
	"that completed": [(scene, { id, fence }) => scene.backend.leases.complete(id, { fence }), "completed"],
	"that failed": [(scene, { id, fence }) => scene.backend.leases.fail(id, { fence, reason: "broken" }), "failed"],
	"that is tried again": [
		(scene, { id, fence }) => scene.backend.leases.fail(id, { fence, reason: "broken", retryable: true }),
		"failed",
	],
	"that was cancelled": [(scene, { id }) => scene.backend.executions.cancel(id, { mode: "force" }), "cancelled"],
	"whose lease expired": [(scene) => scene.clock.advance(30_000), "lease_expired"],
	"whose lease was revoked": [(scene, { id }) => scene.backend.executions.revokeLease(id), "lease_revoked"],
};

/** Whose frames are taken, which of them twice, and when a stream is over. */
export function streamFenceCases(test: PublicCase): void {
	test("appending needs the fence of the live lease", async (scene) => {
		const held = await scene.start();
		const frames = [{ text: "a" }];
		const { leases } = scene.backend;
		expect(await refusal(leases.appendFrames(held.id, { frames }))).toMatchObject({
			code: "fence_required",
			status: 400,
		});
		expect((await refusal(append(scene, { ...held, fence: foreignFence }, "a"))).code).toBe("stale_lease");
		expect((await refusal(append(scene, { ...held, id: unknownId }, "a"))).code).toBe("execution_not_found");
		expect(await framesOf(scene, held.id)).toEqual([]);
	});

	test("nothing is accepted from a lease that is over", async (scene) => {
		const dead = await scene.start();
		await append(scene, dead, "before");
		await scene.clock.advance(30_000);
		expect((await refusal(append(scene, dead, "late"))).code).toBe("lease_expired");
		const live = await scene.take();
		expect((await refusal(append(scene, dead, "late"))).code).toBe("lease_expired");
		await append(scene, live, "after");
		expect((await refusal(append(scene, dead, "late"))).code).toBe("lease_expired");
		expect([await textsOf(scene, dead.id, 0), await textsOf(scene, dead.id, 1)]).toEqual([["before"], ["after"]]);
	});

	test("nothing is accepted after the end, also what was appended before", async (scene) => {
		const held = await scene.start();
		await append(scene, held, { text: "a", seq: 1 });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		for (const seq of [1, 2])
			expect(await refusal(append(scene, held, { text: "b", seq }))).toMatchObject({
				code: "execution_not_active",
				status: 409,
			});
		expect(await textsOf(scene, held.id)).toEqual(["a"]);
	});

	test("a frame that is sent again under its number is not kept twice", async (scene) => {
		const held = await scene.start();
		const frames = [1, 2].map((seq) => ({ text: `frame ${seq}`, seq }));
		const first = await append(scene, held, ...frames);
		await scene.clock.advance(10);
		expect(await append(scene, held, ...frames)).toEqual(first);
		expect((await framesOf(scene, held.id)).map(({ text, seq }) => [text, seq])).toEqual([
			["frame 1", 1],
			["frame 2", 2],
		]);
	});

	test("of a call that repeats some frames only the others are kept", async (scene) => {
		const held = await scene.start();
		const frame = (seq: number) => ({ text: `frame ${seq}`, seq });
		await append(scene, held, frame(1), frame(2));
		expect(await append(scene, held, frame(2), frame(3), frame(4))).toMatchObject({ frameCount: 4 });
		expect(await textsOf(scene, held.id)).toEqual([1, 2, 3, 4].map((n) => `frame ${n}`));
	});

	test("a frame that comes late, behind higher numbers, is not kept", async (scene) => {
		const held = await scene.start();
		await append(scene, held, { text: "five", seq: 5 });
		expect(await append(scene, held, { text: "three", seq: 3 })).toMatchObject({ frameCount: 1 });
		await append(scene, held, "unnumbered", { text: "six", seq: 6 });
		expect(await textsOf(scene, held.id)).toEqual(["five", "unnumbered", "six"]);
	});

	test("repeats that cross each other keep each frame once", async (scene) => {
		const held = await scene.start();
		const frames = numbers(10, 1).map((text) => ({ text, seq: Number(text) }));
		await Promise.all([1, 2, 3].map(() => append(scene, held, ...frames)));
		expect(await textsOf(scene, held.id)).toEqual(numbers(10, 1));
	});

	test("numbers belong to the lease: each epoch starts anew, within an attempt too", async (scene) => {
		const first = await scene.start();
		await append(scene, first, { text: "one", seq: 7 });
		await scene.backend.leases.release(first.id, { fence: first.fence });
		const second = await scene.take();
		await append(scene, second, { text: "two", seq: 1 });
		await append(scene, second, { text: "two again", seq: 1 });
		const found = await framesOf(scene, first.id);
		expect(found.map(({ text, seq, attempt, epoch }) => [text, seq, attempt, epoch])).toEqual([
			["one", 7, 0, first.fence.epoch],
			["two", 1, 0, second.fence.epoch],
		]);
		expect(second.fence.epoch).toBeGreaterThan(first.fence.epoch);
	});

	test("frames without a number are kept each time", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a");
		await append(scene, held, "a");
		expect(await textsOf(scene, held.id)).toEqual(["a", "a"]);
	});

	for (const [what, [end, closeReason]] of Object.entries(ENDS)) {
		test(`the stream of an attempt ${what} is closed with it, and stays as it was`, async (scene) => {
			const held = await scene.start();
			await append(scene, held, "a", "b");
			expect(await scene.backend.streams.read(held.id, 0)).not.toHaveProperty("closedAt");
			await end(scene, held);
			const closedAt = scene.now;
			const expected = { closedAt, closeReason };
			expect(await scene.backend.streams.read(held.id, 0)).toMatchObject(expected);
			await scene.clock.advance(5000);
			const page = await scene.backend.streams.read(held.id, 0);
			expect(page).toMatchObject(expected);
			expect(texts(page.frames)).toEqual(["a", "b"]);
		});

		test(`an attempt ${what} closes its stream also when nothing was appended`, async (scene) => {
			const held = await scene.start();
			await end(scene, held);
			expect(await scene.backend.streams.read(held.id, 0)).toEqual({ frames: [], closedAt: scene.now, closeReason });
		});
	}

	for (const [what, interrupt] of Object.entries<(scene: Scene, held: Held) => Promise<unknown>>({
		released: (scene, { id, fence }) => scene.backend.leases.release(id, { fence }),
		delayed: async (scene, { id, fence }) => {
			await scene.backend.leases.delay(id, { fence, delayMs: 50 });
			await scene.clock.advance(50);
		},
		suspended: async (scene, { id, fence }) => {
			await scene.backend.leases.suspend(id, {
				fence,
				reason: "waiting_for_approval",
				condition: { signal: "go" },
				waitpoints: [{ key: "approval" }],
			});
			expect(await scene.backend.streams.read(id, 0)).not.toHaveProperty("closedAt");
			await scene.backend.waitpoints.resume(id);
		},
	})) {
		test(`the stream of an attempt that is ${what} stays open, and goes on with it`, async (scene) => {
			const held = await scene.start();
			await append(scene, held, "before");
			await interrupt(scene, held);
			expect(await scene.backend.streams.read(held.id, 0)).not.toHaveProperty("closedAt");
			const again = await scene.take();
			expect(again.attempt.index).toBe(0);
			await append(scene, again, "after");
			const found = await framesOf(scene, held.id);
			expect(found.map(({ text, epoch }) => [text, epoch])).toEqual([
				["before", held.fence.epoch],
				["after", again.fence.epoch],
			]);
		});
	}

	test("each attempt has a stream of its own, so text of a dead attempt never mixes into the next", async (scene) => {
		const policy = { retry: { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 0 } } };
		const first = await scene.start({ policy });
		await append(scene, first, "draft one");
		await scene.backend.leases.fail(first.id, { fence: first.fence, reason: "broken" });
		await scene.clock.advance(1);
		const second = await scene.take();
		expect(await scene.backend.streams.read(first.id, 1)).toEqual({ frames: [] });
		await append(scene, second, "draft two");
		await scene.backend.leases.complete(first.id, { fence: second.fence });
		await scene.backend.executions.replay(first.id);
		const third = await scene.take();
		await append(scene, third, "draft three");
		for (const [attempt, text] of ["draft one", "draft two", "draft three"].entries())
			expect(await framesOf(scene, first.id, attempt)).toMatchObject([{ text, attempt }]);
	});

	test("an attempt there will never be is not found; one that may come is empty and open", async (scene) => {
		const id = await scene.create();
		const { streams } = scene.backend;
		expect(await streams.read(id, 0)).toEqual({ frames: [] });
		expect(await streams.read(id, 3)).toEqual({ frames: [] });
		const held = await scene.take();
		await scene.backend.leases.complete(id, { fence: held.fence });
		expect(await refusal(streams.read(id, 1))).toMatchObject({
			code: "attempt_not_found",
			status: 404,
			details: { executionId: id, attempt: 1 },
		});
		expect((await refusal(streams.read(unknownId, 0))).code).toBe("execution_not_found");
	});
}
