import { expect } from "vitest";
import type { Context, TailedFrame } from "../../../src/index.ts";
import { submitted, tried, withWorker } from "../handler-stage.ts";
import type { PublicCase, Scene } from "../scene.ts";
import { append, appendsOf, framesOf, texts, textsOf } from "../streamed.ts";

/** Follows a whole execution as users do; `seen` grows as frames come. */
function tailOf(scene: Scene, id: string, options: Parameters<Scene["ff"]["tail"]>[1] = {}) {
	const tailing = { seen: [] as TailedFrame[], ended: false, error: undefined as unknown };
	const run = async () => {
		for await (const frame of scene.ff.tail(id, options)) tailing.seen.push(frame);
	};
	const done = run()
		.catch((error: unknown) => (tailing.error = error))
		.finally(() => (tailing.ended = true));
	return Object.assign(tailing, { done });
}

const marked = (frames: readonly TailedFrame[]): (string | undefined)[] =>
	frames.map(({ text, isNewAttempt }) => (isNewAttempt ? `> ${text}` : text));

/** A handler that stands still until it is told to go on. */
function gate() {
	let open = () => {};
	const opened = new Promise<void>((resolve) => (open = resolve));
	return { opened, open };
}

/** `ctx.stream` of handlers, and `tail` of whoever follows them. */
export function handlerStreamCases(test: PublicCase): void {
	test("text, events and patches of a handler are frames of its attempt", async (scene) => {
		const handler = async (ctx: Context) => {
			await ctx.stream.write("Hel");
			await ctx.stream.write("lo", { type: "token" });
			await ctx.stream.event("tool", { name: "search" });
			await ctx.stream.event("image", Uint8Array.of(0, 255));
			await ctx.stream.write("…", { mode: "best_effort", ttlMs: 1000 });
			await ctx.stream.summary({ done: true });
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.ff.wait(id);
			const shown = (await framesOf(scene, id)).map(({ type, mode, text, payloadBase64, patch }) => [
				type,
				mode,
				text ?? payloadBase64 ?? patch,
			]);
			expect(shown).toEqual([
				["text", "durable", "Hel"],
				["token", "durable", "lo"],
				["tool", "durable", '{"name":"search"}'],
				["image", "durable", "AP8="],
				["text", "best_effort", "…"],
				["patch", "summary", { done: true }],
			]);
			expect((await scene.backend.streams.summary(id, 0)).document).toEqual({ done: true });
		});
	});

	for (const [what, end] of Object.entries<(ctx: Context) => unknown>({
		"it returns": () => "done",
		"it throws": () => {
			throw new Error("broken");
		},
		"it waits for a signal": (ctx) => ctx.waitForSignal("go"),
		"it sleeps for long": (ctx) => ctx.sleep(60_000),
	})) {
		test(`what a handler wrote is kept before ${what}, although nothing was awaited`, async (scene) => {
			let runs = 0;
			const handler = async (ctx: Context) => {
				if (runs++ > 0) return undefined;
				void ctx.stream.write("first");
				// Behind one that is on its way, so that it has to wait.
				void ctx.stream.write("second");
				return end(ctx);
			};
			await withWorker(scene, handler, async () => {
				const id = await submitted(scene);
				expect((await scene.get(id)).publicState).not.toBe("active");
				expect(await textsOf(scene, id)).toEqual(["first", "second"]);
			});
		});
	}

	test("what a handler wrote is kept before a worker that stops hands its work back", async (scene) => {
		const handler = async (ctx: Context) => {
			for (const text of ["a", "b", "c"]) void ctx.stream.write(text);
			await new Promise(() => {});
		};
		const id = await scene.create();
		await withWorker(scene, handler, () => scene.clock.settle());
		expect((await scene.get(id)).publicState).toBe("waiting");
		expect(await textsOf(scene, id)).toEqual(["a", "b", "c"]);
		expect(await scene.backend.streams.read(id, 0)).not.toHaveProperty("closedAt");
	});

	test("tokens of a model cost a few appends a second, however many there are", async (scene) => {
		const stop = gate();
		const handler = async (ctx: Context) => {
			for (let n = 0; n < 500; n++) {
				await ctx.stream.write(`${n} `);
				await new Promise<void>((resolve) => void scene.clock.setTimer(10, resolve));
			}
			await stop.opened;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(6000);
			const frames = await framesOf(scene, id);
			expect(texts(frames)).toEqual(Array.from({ length: 500 }, (_, n) => `${n} `));
			expect(appendsOf(frames)).toBeLessThan(50);
			stop.open();
			await scene.ff.wait(id);
		});
	});

	test("the first text after a pause goes out at once", async (scene) => {
		const stop = gate();
		const handler = async (ctx: Context) => {
			await ctx.stream.write("first");
			await new Promise<void>((resolve) => void scene.clock.setTimer(1000, resolve));
			await ctx.stream.write("later");
			await stop.opened;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await textsOf(scene, id)).toEqual(["first"]);
			await scene.clock.advance(1000);
			expect(await textsOf(scene, id)).toEqual(["first", "later"]);
			stop.open();
			await scene.ff.wait(id);
		});
	});

	test("flush resolves when everything is kept", async (scene) => {
		const stop = gate();
		let flushed = false;
		const handler = async (ctx: Context) => {
			for (let n = 0; n < 5; n++) void ctx.stream.write(`${n}`);
			await ctx.stream.flush();
			flushed = true;
			await stop.opened;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(flushed).toBe(true);
			expect(await textsOf(scene, id)).toEqual(["0", "1", "2", "3", "4"]);
			stop.open();
			await scene.ff.wait(id);
		});
	});

	test("a handler that writes faster than can be kept waits, and loses nothing", async (scene) => {
		const text = "x".repeat(60_000);
		const handler = async (ctx: Context) => {
			for (let n = 0; n < 100; n++) await ctx.stream.write(`${n} ${text}`);
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(5000);
			await scene.ff.wait(id);
			const found = await textsOf(scene, id);
			expect(found.map((each) => Number(each?.split(" ")[0]))).toEqual(Array.from({ length: 100 }, (_, n) => n));
		});
	});

	test("text longer than a frame is cut into several, between characters", async (scene) => {
		const text = "🦊é".repeat(30_000);
		const handler = (ctx: Context) => ctx.stream.write(text);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.ff.wait(id);
			const found = await textsOf(scene, id);
			expect(found.length).toBeGreaterThan(1);
			for (const piece of found) expect(piece?.isWellFormed()).toBe(true);
			expect(found.join("") === text).toBe(true);
		});
	});

	test("an event that is too large throws where it is written, and the rest is kept", async (scene) => {
		const handler = async (ctx: Context) => {
			await ctx.stream.write("before");
			const error = await ctx.stream.event("large", "x".repeat(70_000)).catch((thrown: unknown) => thrown);
			await ctx.stream.write("after");
			return (error as { code?: string }).code;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toBe("payload_too_large");
			expect(await textsOf(scene, id)).toEqual(["before", "after"]);
		});
	});

	test("what cannot be kept throws where it is written, and the rest is kept", async (scene) => {
		const handler = async (ctx: Context) => {
			const { stream } = ctx;
			const bad: Record<string, () => Promise<void>> = {
				"no type": () => stream.event("", {}),
				"a long type": () => stream.event("x".repeat(65), {}),
				"a time for a durable frame": () => stream.write("x", { ttlMs: 5 }),
				"a time of 0": () => stream.write("x", { mode: "best_effort", ttlMs: 0 }),
				"a mode of its own": () => stream.write("x", { mode: "summary" as never }),
				"an unknown option": () => stream.write("x", { color: "red" } as never),
				"no patch": () => stream.summary(undefined),
				"a patch that is no JSON": () => stream.summary(() => {}),
			};
			const codes: Record<string, unknown> = {};
			await stream.write("before");
			for (const [what, write] of Object.entries(bad)) {
				void stream.write(what);
				codes[what] = await write().catch((error: { code?: string }) => error.code);
			}
			await stream.write("after");
			return codes;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			const codes = (await scene.ff.result(id)) as Record<string, unknown>;
			expect(new Set(Object.values(codes))).toEqual(new Set(["invalid_input"]));
			expect(await textsOf(scene, id)).toEqual(["before", ...Object.keys(codes), "after"]);
		});
	});

	test("what was written in a step is kept before the step is: no later run would write it again", async (scene) => {
		const handler = async (ctx: Context) => {
			await ctx.step("draft", async () => {
				await ctx.stream.write("a");
				await ctx.stream.flush();
				// So soon after the first that they would be gathered.
				for (const text of ["b", "c"]) await ctx.stream.write(text);
			});
			return textsOf(scene, ctx.execution.id);
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toEqual(["a", "b", "c"]);
		});
	});

	test("a patch that makes the summary too large is dropped alone, and told once", async (scene) => {
		const code = (error: { code?: string }) => error.code;
		const handler = async ({ stream }: Context) => {
			const told: unknown[] = [];
			await stream.write("a");
			await stream.summary({ long: "x".repeat(62_000) });
			await stream.write("b");
			told.push(await stream.flush().catch(code));
			await stream.summary({ short: "y" });
			told.push(await stream.flush().catch(code));
			await stream.summary({ long: "x".repeat(62_000) });
			await stream.write("c");
			return told;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1000);
			expect(await scene.ff.result(id)).toEqual(["summary_too_large", null]);
			const { document, version } = await scene.backend.streams.summary(id, 0);
			expect([document, version]).toEqual([{ short: "y" }, 1]);
			const kept = (await framesOf(scene, id)).filter(({ mode }) => mode === "durable");
			expect(texts(kept)).toEqual(["a", "b", "c"]);
		});
	});

	test("a patch is what it was when it was written, whatever becomes of it", async (scene) => {
		const handler = async (ctx: Context) => {
			const patch = { sources: ["a"], count: 1 };
			await ctx.stream.summary(patch);
			patch.sources.push("b");
			patch.count = 2;
			await ctx.stream.flush();
			patch.sources.push("c");
			await ctx.stream.summary({ done: true });
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.ff.wait(id);
			const { document } = await scene.backend.streams.summary(id, 0);
			expect(document).toEqual({ sources: ["a"], count: 1, done: true });
		});
	});

	test("a handler that lost its lease can write nothing more", async (scene) => {
		const lost = gate();
		const errors: unknown[] = [];
		const handler = async (ctx: Context) => {
			await ctx.stream.write(`attempt ${ctx.attempt.index}`);
			if (ctx.attempt.index > 0) return;
			await lost.opened;
			errors.push(await ctx.stream.write("late").catch((error: unknown) => error));
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.backend.executions.revokeLease(id);
			await scene.clock.advance(1000);
			lost.open();
			await scene.ff.wait(id);
			await scene.clock.settle();
			expect(errors).toMatchObject([{ name: "HandlerAborted" }]);
			expect([await textsOf(scene, id, 0), await textsOf(scene, id, 1)]).toEqual([["attempt 0"], ["attempt 1"]]);
		});
	});

	test("a tail shows text as it comes and ends with the execution", async (scene) => {
		const steps = [gate(), gate()];
		const handler = async (ctx: Context) => {
			await ctx.stream.write("one");
			await steps[0]?.opened;
			await ctx.stream.write("two");
			await steps[1]?.opened;
			return "done";
		};
		const id = await scene.create();
		const tailing = tailOf(scene, id);
		await withWorker(scene, handler, async () => {
			await scene.clock.advance(1000);
			expect(marked(tailing.seen)).toEqual(["one"]);
			steps[0]?.open();
			await scene.clock.advance(1000);
			expect(marked(tailing.seen)).toEqual(["one", "two"]);
			expect(tailing.ended).toBe(false);
			steps[1]?.open();
			await tailing.done;
			expect([tailing.error, await scene.ff.result(id)]).toEqual([undefined, "done"]);
		});
	});

	test("a tail follows over retries, and the first frame of a later attempt says so", async (scene) => {
		const handler = async (ctx: Context) => {
			await ctx.stream.write(`draft ${ctx.attempt.index}`);
			await ctx.stream.write("…");
			if (ctx.attempt.index < 2) throw new Error("broken");
		};
		await withWorker(scene, handler, async () => {
			const run = await scene.ff.submit("job", {}, tried());
			const seen: TailedFrame[] = [];
			const tailing = (async () => {
				for await (const frame of run.tail()) seen.push(frame);
			})();
			await scene.clock.advance(1000);
			await tailing;
			expect(marked(seen)).toEqual(["draft 0", "…", "> draft 1", "…", "> draft 2", "…"]);
			expect(seen.map(({ attempt }) => attempt)).toEqual([0, 0, 1, 1, 2, 2]);
		});
	});

	test("a tail follows over a lost lease, an attempt that said nothing, and a suspension", async (scene) => {
		const first = await scene.start();
		const tailing = tailOf(scene, first.id);
		await append(scene, first, "first");
		await scene.clock.advance(30_000);
		await scene.take();
		await scene.clock.advance(30_000);
		const third = await scene.take();
		await append(scene, third, "third");
		await scene.backend.leases.suspend(first.id, {
			fence: third.fence,
			reason: "waiting_for_approval",
			condition: { signal: "go" },
			waitpoints: [{ key: "approval" }],
		});
		await scene.clock.settle();
		expect(tailing.ended).toBe(false);
		await scene.backend.waitpoints.resume(first.id);
		const again = await scene.take();
		await append(scene, again, "approved");
		await scene.backend.leases.complete(first.id, { fence: again.fence });
		await tailing.done;
		expect(marked(tailing.seen)).toEqual(["first", "> third", "approved"]);
	});

	test("a tail of work that has ended gives all there was", async (scene) => {
		const held = await scene.start();
		await append(scene, held, "a", "b");
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		const tailing = tailOf(scene, held.id);
		await tailing.done;
		expect(marked(tailing.seen)).toEqual(["a", "b"]);
	});

	for (const [what, end] of Object.entries<(scene: Scene, id: string) => Promise<unknown>>({
		"is cancelled before it ever ran": (scene, id) => scene.backend.executions.cancel(id),
		"expires before it ever ran": (scene) => scene.clock.advance(60_000),
	})) {
		test(`a tail of work that ${what} ends`, async (scene) => {
			const id = await scene.create({ policy: { timeouts: { deadlineMs: 60_000 } } });
			const tailing = tailOf(scene, id);
			await scene.clock.settle();
			expect(tailing.ended).toBe(false);
			await end(scene, id);
			await tailing.done;
			expect([tailing.seen, tailing.error]).toEqual([[], undefined]);
		});
	}

	test("a tail of work that is cancelled while it waits for another try ends", async (scene) => {
		const held = await scene.start({ policy: { retry: { maxRetries: 1 } } });
		const tailing = tailOf(scene, held.id);
		await append(scene, held, "a");
		await scene.backend.leases.fail(held.id, { fence: held.fence, reason: "broken" });
		await scene.clock.settle();
		expect(tailing.ended).toBe(false);
		await scene.backend.executions.cancel(held.id);
		await tailing.done;
		expect([marked(tailing.seen), tailing.error]).toEqual([["a"], undefined]);
	});

	test("a tail may begin with an attempt, behind a frame, or with what comes from now on", async (scene) => {
		const first = await scene.start(tried());
		const { lastId } = await append(scene, first, "a");
		await append(scene, first, "b");
		await scene.backend.leases.fail(first.id, { fence: first.fence, reason: "broken" });
		await scene.clock.advance(1);
		const second = await scene.take();
		await append(scene, second, "c");
		const tails = [
			tailOf(scene, first.id, { after: lastId }),
			tailOf(scene, first.id, { attempt: 1 }),
			tailOf(scene, first.id, { attempt: 1, after: "end" }),
		];
		await scene.clock.settle();
		await append(scene, second, "d");
		await scene.backend.leases.complete(first.id, { fence: second.fence });
		for (const { done } of tails) await done;
		expect(tails.map(({ seen }) => marked(seen))).toEqual([["b", "> c", "d"], ["c", "d"], ["d"]]);
	});

	test("an attempt that is named and was never there is told", async (scene) => {
		const held = await scene.finished();
		const tailing = tailOf(scene, held.id, { attempt: 5 });
		await tailing.done;
		expect(tailing.error).toMatchObject({ code: "attempt_not_found" });
	});

	test("a tail that is called off ends", async (scene) => {
		const held = await scene.start();
		const controller = new AbortController();
		const tailing = tailOf(scene, held.id, { signal: controller.signal });
		await scene.clock.settle();
		controller.abort();
		await tailing.done;
		expect(tailing.error).toBeUndefined();
	});
}
