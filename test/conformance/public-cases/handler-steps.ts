import { expect } from "vitest";
import { type Context, HandlerAborted, StepTimeout, TerminalError } from "../../../src/index.ts";
import { stepsOf, submitted, tried, withWorker } from "../handler-stage.ts";
import type { PublicCase } from "../scene.ts";

const MIB = 1024 * 1024;

/** Fails an attempt the first time it is called. */
function failingOnce(message = "not yet"): () => void {
	let calls = 0;
	return () => {
		if (calls++ === 0) throw new Error(message);
	};
}

export function handlerStepCases(test: PublicCase): void {
	test("a step runs and is recorded with what it returned", async (scene) => {
		const handler = (ctx: Context) => ctx.step("fetch", () => ({ pages: 3 }));
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toEqual({ pages: 3 });
			expect(await stepsOf(scene, id)).toMatchObject([
				{ name: "fetch", index: 0, number: 1, attempt: 0, durationMs: 0, result: { pages: 3 } },
			]);
		});
	});

	test("its duration is how long it ran", async (scene) => {
		let finish = () => {};
		const handler = (ctx: Context) => ctx.step("slow", () => new Promise<void>((resolve) => (finish = resolve)));
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1234);
			finish();
			await scene.clock.settle();
			expect(await stepsOf(scene, id)).toMatchObject([{ name: "slow", durationMs: 1234 }]);
		});
	});

	test("after a retry recorded steps give their result without running", async (scene) => {
		const ran: string[] = [];
		const check = failingOnce();
		const handler = async (ctx: Context) => {
			const a = await ctx.step("a", () => ran.push("a"));
			const b = await ctx.step("b", () => ran.push("b"));
			check();
			return [a, b, await ctx.step("c", () => ran.push("c"))];
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(await scene.ff.result(id)).toEqual([1, 2, 3]);
			expect(ran).toEqual(["a", "b", "c"]);
			expect((await stepsOf(scene, id)).map(({ name, attempt }) => [name, attempt])).toEqual([
				["a", 0],
				["b", 0],
				["c", 1],
			]);
		});
	});

	test("after a crash recorded steps give their result without running", async (scene) => {
		const id = await scene.create();
		const { fence } = await scene.take();
		await scene.backend.leases.recordStep(id, { fence, name: "a", index: 0, result: "before", startedAt: 0 });
		await scene.clock.advance(30_000);
		const ran: string[] = [];
		const handler = async (ctx: Context) => [
			await ctx.step("a", () => ran.push("a")),
			await ctx.step("b", () => ran.push("b")),
		];
		await withWorker(scene, handler, async () => {
			expect(await scene.ff.result(id)).toEqual(["before", 1]);
			expect(ran).toEqual(["b"]);
		});
	});

	test("a worker that stops leaves its steps to the next", async (scene) => {
		const ran: string[] = [];
		const id = await scene.create();
		const first = async (ctx: Context) => {
			await ctx.step("a", () => ran.push("first"));
			await new Promise(() => {});
		};
		await withWorker(scene, first, () => scene.clock.settle());
		const second = (ctx: Context) => ctx.step("a", () => ran.push("second"));
		await withWorker(scene, second, async () => {
			expect(await scene.ff.result(id)).toBe(1);
			expect(ran).toEqual(["first"]);
		});
	});

	test("steps of one name are told apart by the order of the calls", async (scene) => {
		const check = failingOnce();
		let ran = 0;
		const handler = async (ctx: Context) => {
			const results: unknown[] = [];
			for (const page of ["x", "y", "z"]) {
				results.push(
					await ctx.step("fetch", () => {
						ran += 1;
						return page;
					}),
				);
			}
			check();
			return results;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(await scene.ff.result(id)).toEqual(["x", "y", "z"]);
			expect(ran).toBe(3);
			expect((await stepsOf(scene, id)).map(({ index, result }) => [index, result])).toEqual([
				[0, "x"],
				[1, "y"],
				[2, "z"],
			]);
		});
	});

	test("steps run side by side, and keep their places whichever ends first", async (scene) => {
		const check = failingOnce();
		let ran = 0;
		const handler = async (ctx: Context) => {
			const wait = async (turns: number) => {
				for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve));
			};
			const results = await Promise.all(
				Array.from({ length: 30 }, (_, n) =>
					ctx.step("part", async () => {
						ran += 1;
						await wait((30 - n) % 7);
						return n;
					}),
				),
			);
			check();
			return results;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(await scene.ff.result(id)).toEqual(Array.from({ length: 30 }, (_, n) => n));
			expect(ran).toBe(30);
		});
	});

	test("what was recorded is read in pages", async (scene) => {
		const id = await scene.create();
		const { fence } = await scene.take();
		const record = (index: number, resultBase64: string) =>
			scene.backend.leases.recordStep(id, { fence, name: "part", index, resultBase64, startedAt: 0 });
		for (let index = 0; index < 6; index++) await record(index, Buffer.alloc(MIB, index).toString("base64"));
		await scene.clock.advance(30_000);
		let ran = 0;
		const handler = async (ctx: Context) => {
			const firsts: number[] = [];
			for (let n = 0; n < 7; n++) {
				const bytes = await ctx.step("part", () => {
					ran += 1;
					return Uint8Array.of(99);
				});
				firsts.push(bytes[0] ?? -1);
			}
			return firsts;
		};
		await withWorker(scene, handler, async () => {
			expect(await scene.ff.result(id)).toEqual([0, 1, 2, 3, 4, 5, 99]);
			expect(ran).toBe(1);
		});
	});

	test("a step gives what was recorded, also the first time", async (scene) => {
		const seen: unknown[] = [];
		const check = failingOnce();
		const handler = async (ctx: Context) => {
			const bytes = Buffer.from("héllo");
			seen.push([
				await ctx.step("data", () => ({ at: new Date(0), gone: undefined, list: [undefined], deep: [1, { a: "é" }] })),
				await ctx.step("bytes", () => bytes as Uint8Array),
				await ctx.step("nothing", () => {}),
				await ctx.step("null", () => null),
				await ctx.step("number", () => 1.5),
				await ctx.step("text", () => ""),
			]);
			check();
		};
		await withWorker(scene, handler, async () => {
			await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(seen).toHaveLength(2);
			expect(seen[0]).toEqual([
				{ at: "1970-01-01T00:00:00.000Z", list: [null], deep: [1, { a: "é" }] },
				new Uint8Array(Buffer.from("héllo")),
				undefined,
				null,
				1.5,
				"",
			]);
			expect(seen[1]).toEqual(seen[0]);
		});
	});

	test("a step that throws is recorded with its error, and runs again the next time", async (scene) => {
		const check = failingOnce("no route to host");
		let ran = 0;
		const handler = (ctx: Context) =>
			ctx.step("fetch", () => {
				ran += 1;
				check();
				return "page";
			});
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, {
				policy: { retry: { backoff: { type: "fixed", delayMs: 1000 } } },
			});
			expect(await stepsOf(scene, id)).toMatchObject([
				{ name: "fetch", error: { reason: "no route to host", category: "error" } },
			]);
			expect((await scene.get(id)).failure?.reason).toBe("no route to host");
			await scene.clock.advance(1000);
			expect(await scene.ff.result(id)).toBe("page");
			expect(ran).toBe(2);
			const [step, ...others] = await stepsOf(scene, id);
			expect(step).toMatchObject({ attempt: 1, result: "page" });
			expect([step?.error, others]).toEqual([undefined, []]);
		});
	});

	test("a handler may catch what a step throws, and go on", async (scene) => {
		const handler = async (ctx: Context) => {
			const first = await ctx.step("try", () => Promise.reject(new Error("broken"))).catch((error) => error.message);
			return [first, await ctx.step("try", () => "well")];
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toEqual(["broken", "well"]);
			expect((await stepsOf(scene, id)).map(({ index, error }) => [index, error?.reason])).toEqual([
				[0, "broken"],
				[1, undefined],
			]);
		});
	});

	test("a step has its own retry, within the same attempt", async (scene) => {
		let ran = 0;
		const handler = (ctx: Context) =>
			ctx.step(
				"flaky",
				() => {
					ran += 1;
					if (ran < 3) throw new Error("again");
					return ran;
				},
				{ retry: { maxRetries: 2, backoff: { type: "fixed", delayMs: 500 } } },
			);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(999);
			expect([ran, (await scene.get(id)).publicState]).toEqual([2, "active"]);
			await scene.clock.advance(1);
			expect(await scene.ff.result(id)).toBe(3);
			expect(await stepsOf(scene, id)).toMatchObject([{ attempt: 0, durationMs: 1000, result: 3 }]);
		});
	});

	test("when its retries are used up a step has failed", async (scene) => {
		let ran = 0;
		const handler = (ctx: Context) =>
			ctx.step(
				"flaky",
				() => {
					ran += 1;
					throw new Error(`no ${ran}`);
				},
				{ retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } },
			);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1);
			expect((await scene.get(id)).failure?.reason).toBe("no 2");
			expect(await stepsOf(scene, id)).toMatchObject([{ error: { reason: "no 2" } }]);
		});
	});

	test("a step is not retried when what it throws says so, nor without being asked to", async (scene) => {
		const ran: string[] = [];
		const retry = { maxRetries: 5, backoff: { type: "fixed" as const, delayMs: 0 }, nonRetryableCategories: ["bad"] };
		const handler = async (ctx: Context) => {
			const failing = (name: string, error: Error, options = {}) =>
				ctx
					.step(
						name,
						() => {
							ran.push(name);
							throw error;
						},
						options,
					)
					.catch(() => {});
			await failing("terminal", new TerminalError("never"), { retry });
			await failing("category", Object.assign(new Error("no"), { category: "bad" }), { retry });
			await failing("plain", new Error("no"));
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect((await scene.get(id)).publicState).toBe("completed");
			expect(ran).toEqual(["terminal", "category", "plain"]);
			expect((await stepsOf(scene, id)).map(({ error }) => error?.category)).toEqual(["permanent", "bad", "error"]);
		});
	});

	test("a step has its own timeout, which its signal tells it of", async (scene) => {
		const reasons: unknown[] = [];
		const handler = (ctx: Context) =>
			ctx.step(
				"slow",
				(signal) => {
					signal.addEventListener("abort", () => reasons.push(signal.reason));
					return new Promise(() => {});
				},
				{ timeoutMs: 1500, retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } },
			);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1500);
			expect(reasons).toEqual([expect.any(StepTimeout)]);
			expect((await scene.get(id)).publicState).toBe("active");
			await scene.clock.advance(1500);
			expect((await scene.get(id)).failure).toMatchObject({
				reason: "step slow took longer than 1500 ms",
				category: "timeout",
			});
			expect(await stepsOf(scene, id)).toMatchObject([{ error: { category: "timeout" } }]);
		});
	});

	test("a step that is done in time hears nothing of its timeout", async (scene) => {
		let aborted = false;
		const handler = async (ctx: Context) => {
			await ctx.step("quick", (signal) => signal.addEventListener("abort", () => (aborted = true)), { timeoutMs: 10 });
			await ctx.sleep(1000);
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1000);
			expect([aborted, (await scene.get(id)).publicState]).toEqual([false, "completed"]);
		});
	});

	test("the signal of a step aborts with the run, and what it then throws is no failure of the step", async (scene) => {
		for (const options of [{}, { timeoutMs: 60_000 }]) {
			const handler = (ctx: Context) =>
				ctx.step(
					"slow",
					(signal) =>
						new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error))),
					options,
				);
			await withWorker(scene, handler, async () => {
				const id = await submitted(scene);
				await scene.backend.executions.cancel(id, { reason: "enough" });
				await scene.clock.settle();
				expect((await scene.get(id)).publicState).toBe("cancelled");
				expect(await stepsOf(scene, id)).toEqual([]);
			});
		}
	});

	test("a handler whose lease is lost records nothing and runs no further step", async (scene) => {
		const seen: unknown[] = [];
		let finish = () => {};
		let runs = 0;
		const handler = async (ctx: Context) => {
			runs += 1;
			if (runs > 1) return "second run";
			const slow = ctx.step("slow", () => new Promise<void>((resolve) => (finish = resolve)));
			seen.push(await slow.catch((error: unknown) => error));
			seen.push(await ctx.step("next", () => "ran").catch((error: unknown) => error));
			return "first run";
		};
		await withWorker(
			scene,
			handler,
			async () => {
				const id = await submitted(scene);
				await scene.backend.executions.revokeLease(id);
				await scene.clock.settle();
				finish();
				await scene.clock.settle();
				expect(seen).toEqual([expect.any(HandlerAborted), expect.any(HandlerAborted)]);
				expect(await scene.ff.result(id)).toBe("second run");
				expect(await stepsOf(scene, id)).toEqual([]);
			},
			{ concurrency: 2 },
		);
	});

	test("a replay runs every step again, with keepSteps none", async (scene) => {
		let ran = 0;
		const handler = (ctx: Context) => ctx.step("count", () => ++ran);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toBe(1);
			await scene.ff.replay(id, { keepSteps: true });
			await scene.clock.settle();
			expect([await scene.ff.result(id), ran]).toEqual([1, 1]);
			await scene.ff.replay(id);
			await scene.clock.settle();
			expect([await scene.ff.result(id), ran]).toEqual([2, 2]);
		});
	});

	test("a result that cannot be recorded fails the work for good, and says why", async (scene) => {
		const circle: { self?: unknown } = {};
		circle.self = circle;
		const results: Record<string, [value: unknown, why: RegExp]> = {
			circle: [circle, /step made cannot be recorded: result: cannot be written as JSON/],
			function: [() => {}, /step made cannot be recorded: result: a function is not JSON/],
			large: ["x".repeat(MIB), /step made cannot be recorded: result: must be at most 1048576 bytes, got 1048578/],
		};
		const handler = (ctx: Context<string>, input: string) => ctx.step("made", () => results[input]?.[0]);
		await withWorker(scene, handler, async () => {
			for (const [input, [, why]] of Object.entries(results)) {
				const id = await submitted(scene, { input, ...tried() });
				await scene.clock.advance(1);
				const { failure, publicState, retries } = await scene.get(id);
				expect([publicState, retries, failure?.category]).toEqual(["failed", 0, "permanent"]);
				expect(failure?.reason).toMatch(why);
			}
		});
	});

	test("a step that is asked for wrongly is refused before it runs", async (scene) => {
		const wrong: [name: unknown, options: unknown, field: string][] = [
			["", {}, "name"],
			["a\nb", {}, "name"],
			[7, {}, "name"],
			["a", { timeoutMs: 0 }, "timeoutMs"],
			["a", { retry: { maxRetries: -1 } }, "retry.maxRetries"],
			["a", { retries: 3 }, "retries"],
		];
		let ran = 0;
		const handler = async (ctx: Context) => {
			const fields: unknown[] = [];
			for (const [name, options] of wrong) {
				const refused = await ctx.step(name as string, () => ++ran, options as object).catch((error) => error);
				fields.push([refused.code, refused.details?.field]);
			}
			return fields;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect(await scene.ff.result(id)).toEqual(wrong.map(([, , field]) => ["invalid_input", field]));
			expect(ran).toBe(0);
		});
	});

	test("steps may be made within steps", async (scene) => {
		const check = failingOnce();
		const ran: string[] = [];
		const handler = async (ctx: Context) => {
			const outer = await ctx.step("outer", async () => {
				ran.push("outer");
				const inner = await ctx.step("inner", () => `in ${ran.push("inner")}`);
				check();
				return `${inner} and out`;
			});
			return outer;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(await scene.ff.result(id)).toBe("in 2 and out");
			expect(ran).toEqual(["outer", "inner", "outer"]);
		});
	});
}
