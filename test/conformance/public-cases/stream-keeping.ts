import { expect } from "vitest";
import type { PublicCase, Scene } from "../scene.ts";
import { append, framesOf, keptOf, texts, textsOf } from "../streamed.ts";

const numbers = (count: number, from = 0): string[] => Array.from({ length: count }, (_, n) => String(from + n));

/** Begins work whose streams keep so many durable frames. */
const keeping = (scene: Scene, maxFrames: number) => scene.start({ policy: { stream: { maxFrames } } });

/** What is kept of a stream, each mode apart. */
export function streamKeepingCases(test: PublicCase): void {
	for (const together of [1, 3, 40]) {
		test(`of durable frames the last maxFrames are shown, appended ${together} at a time`, async (scene) => {
			const held = await keeping(scene, 10);
			for (let n = 0; n < 240; n += together) {
				await append(scene, held, ...numbers(together, n));
				const count = n + together;
				const shown = numbers(Math.min(10, count), Math.max(0, count - 10));
				expect(await textsOf(scene, held.id)).toEqual(shown);
				expect(texts((await scene.backend.streams.tail(held.id, 0)).frames)).toEqual(shown);
			}
		});
	}

	test("one that follows closely is given every frame, and nobody more than maxFrames of the past", async (scene) => {
		const held = await keeping(scene, 5);
		const { streams } = scene.backend;
		let after = "start";
		for (let n = 0; n < 12; n++) {
			await append(scene, held, `${n}`);
			const { frames } = await streams.tail(held.id, 0, { after });
			expect(texts(frames)).toEqual([`${n}`]);
			after = frames.at(-1)?.id ?? "";
		}
		expect(texts((await streams.tail(held.id, 0)).frames)).toEqual(numbers(5, 7));
	});

	test("what is trimmed is removed: a long stream takes no more room than a short one", async (scene) => {
		const held = await keeping(scene, 64);
		for (let n = 0; n < 700; n++) await append(scene, held, `${n}`);
		expect((await keptOf(scene, held.id)).length).toBeLessThan(64 + 2 * 64 + 10);
		expect(await textsOf(scene, held.id)).toEqual(numbers(64, 636));
	});

	test("10000 durable frames are kept unless the policy says otherwise", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 10_500; n += 500) await append(scene, held, ...numbers(500, n));
		expect(await textsOf(scene, held.id)).toEqual(numbers(10_000, 500));
	});

	test("ids of frames that were trimmed can still be read from", async (scene) => {
		const held = await keeping(scene, 3);
		const { lastId } = await append(scene, held, "0");
		for (let n = 1; n < 8; n++) await append(scene, held, `${n}`);
		expect(texts((await scene.backend.streams.read(held.id, 0, { from: lastId })).frames)).toEqual(numbers(3, 5));
		expect(texts((await scene.backend.streams.tail(held.id, 0, { after: lastId })).frames)).toEqual(numbers(3, 5));
	});

	test("neither patches nor frames of best effort push out a durable frame", async (scene) => {
		const held = await keeping(scene, 3);
		await append(scene, held, "0", "1", "2");
		for (let n = 0; n < 400; n++)
			await append(scene, held, { mode: "summary", patch: { n } }, { mode: "best_effort", text: "x" });
		const durable = (await framesOf(scene, held.id)).filter(({ mode }) => mode === "durable");
		expect(texts(durable)).toEqual(["0", "1", "2"]);
	});

	test("durable frames push out no patch and no frame of best effort", async (scene) => {
		const held = await keeping(scene, 2);
		await append(scene, held, { mode: "summary", patch: { a: 1 } }, { mode: "best_effort", text: "x" });
		for (let n = 0; n < 300; n++) await append(scene, held, `${n}`);
		const modes = (await framesOf(scene, held.id)).map(({ mode }) => mode);
		expect(modes).toEqual(["summary", "best_effort", "durable", "durable"]);
	});

	test("patches are trimmed apart, and the document stays", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 400; n++) await append(scene, held, { mode: "summary", patch: { [`k${n % 10}`]: n } });
		const patches = await framesOf(scene, held.id);
		expect(patches.length).toBeLessThan(400);
		expect(patches.at(-1)?.patch).toEqual({ k9: 399 });
		const { document, version } = await scene.backend.streams.summary(held.id, 0);
		expect([version, Object.keys(document as object).length]).toEqual([400, 10]);
	});

	test("a frame of best effort is shown for its ttl", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "durable", { mode: "best_effort", text: "brief", ttlMs: 500 });
		await append(scene, held, { mode: "best_effort", text: "usual" });
		await scene.clock.advance(499);
		expect(await textsOf(scene, held.id)).toEqual(["durable", "brief", "usual"]);
		await scene.clock.advance(1);
		expect(await textsOf(scene, held.id)).toEqual(["durable", "usual"]);
		expect(texts((await scene.backend.streams.tail(held.id, 0)).frames)).toEqual(["durable", "usual"]);
		await scene.clock.advance(59_500);
		expect(await textsOf(scene, held.id)).toEqual(["durable"]);
	});

	test("whoever follows is not given a frame of best effort that is over", async (scene) => {
		const held = await scene.start({}, { leaseMs: 3_600_000 });
		const { streams } = scene.backend;
		const waiting = streams.tail(held.id, 0, { waitMs: 30_000 });
		await scene.clock.settle();
		const { lastId } = await append(scene, held, "first");
		expect(texts((await waiting).frames)).toEqual(["first"]);
		await append(scene, held, { mode: "best_effort", text: "brief", ttlMs: 100 }, "second");
		await scene.clock.advance(100);
		expect(texts((await streams.tail(held.id, 0, { after: lastId })).frames)).toEqual(["second"]);
	});

	test("frames of best effort that come slowly are all there for their ttl", async (scene) => {
		const held = await scene.start({}, { leaseMs: 3_600_000 });
		for (let n = 0; n < 200; n++) {
			if (n % 20 === 0) await scene.backend.leases.renew({ leases: [{ executionId: held.id, ...held.fence }] });
			await append(scene, held, { mode: "best_effort", text: `${n}`, ttlMs: 3_600_000 });
			await scene.clock.advance(30_000);
		}
		expect(await textsOf(scene, held.id)).toEqual(numbers(119, 81));
	});

	test("frames of best effort that come fast are all there for their ttl", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 1000; n += 50) {
			const frames = numbers(50, n).map((text) => ({ mode: "best_effort" as const, text, ttlMs: 60_000 }));
			await append(scene, held, ...frames);
			await scene.clock.advance(100);
		}
		expect(await textsOf(scene, held.id)).toEqual(numbers(1000));
	});

	test("never more than 16384 frames of best effort are there", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 20_000; n += 1000) {
			const frames = numbers(1000, n).map((text) => ({ mode: "best_effort" as const, text, ttlMs: 60_000 }));
			await append(scene, held, ...frames);
		}
		expect(await textsOf(scene, held.id)).toEqual(numbers(16_384, 20_000 - 16_384));
	});

	test("what is over is removed with whatever is appended next", async (scene) => {
		const held = await scene.start();
		for (let n = 0; n < 20; n++) await append(scene, held, { mode: "best_effort", text: `${n}`, ttlMs: 10 });
		expect((await keptOf(scene, held.id)).length).toBeGreaterThan(20);
		await scene.clock.advance(10);
		await append(scene, held, "durable");
		expect((await keptOf(scene, held.id)).length).toBeLessThan(5);
	});
}
