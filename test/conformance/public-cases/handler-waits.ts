import { expect } from "vitest";
import {
	type Context,
	type FlowFabricError,
	HandlerSuspended,
	type ReceivedSignal,
	WaitTimeout,
} from "../../../src/index.ts";
import { stepsOf, submitted, tried, withWorker } from "../handler-stage.ts";
import { type PublicCase, refusal, type Scene } from "../scene.ts";

const HOUR = 3_600_000;

/** Sends a signal to the open waitpoint under a key, as whoever was given its token would. */
async function send(scene: Scene, id: string, key: string, name: string, payload: unknown) {
	const { waitpoints } = await scene.backend.waitpoints.list(id);
	const waitpointId = waitpoints.find((waitpoint) => waitpoint.key === key)?.id ?? "";
	const { token } = await scene.backend.waitpoints.token(id, waitpointId);
	const answer = await scene.backend.waitpoints.signal(id, {
		waitpointId,
		token,
		name,
		...(payload instanceof Uint8Array ? { payloadBase64: Buffer.from(payload).toString("base64") } : { payload }),
	});
	await scene.clock.settle();
	return answer;
}

/** Says yes or no as an operator. */
async function answer(scene: Scene, id: string, name: "approve" | "reject", more: object = {}) {
	await scene.backend.waitpoints.approve(id, { name, ...more });
	await scene.clock.settle();
}

const stateOf = async (scene: Scene, id: string) => (await scene.get(id)).publicState;

export function handlerWaitCases(test: PublicCase): void {
	test("a handler waits for a signal without a lease, and starts from the top when it has come", async (scene) => {
		const ran: string[] = [];
		const handler = async (ctx: Context) => {
			ran.push("top");
			const draft = await ctx.step("draft", () => `draft ${ran.push("draft")}`);
			const { payload } = await ctx.waitForSignal("approval");
			return { draft, payload, attempt: ctx.attempt.index };
		};
		await withWorker(scene, handler, async ({ log }) => {
			const id = await submitted(scene);
			const { publicState, lease, state } = await scene.get(id);
			expect([publicState, lease, state.blockingReason]).toEqual(["suspended", undefined, "waiting_for_signal"]);
			expect(await send(scene, id, "approval", "approval", { ok: true })).toMatchObject({ effect: "resumed" });
			expect(await scene.ff.result(id)).toEqual({ draft: "draft 2", payload: { ok: true }, attempt: 0 });
			expect(ran).toEqual(["top", "draft", "top"]);
			expect(log.filter((line) => line.startsWith("warn"))).toEqual([]);
		});
	});

	test("a handler that waits holds no place of its worker", async (scene) => {
		const handler = (ctx: Context<string>, input: string) => (input === "wait" ? ctx.waitForSignal("go") : "done");
		await withWorker(
			scene,
			handler,
			async () => {
				const waiting = await submitted(scene, { input: "wait" });
				const other = await submitted(scene, { input: "other" });
				expect([await stateOf(scene, waiting), await stateOf(scene, other)]).toEqual(["suspended", "completed"]);
			},
			{ concurrency: 1 },
		);
	});

	test("the signal comes with its payload, its source and its name", async (scene) => {
		let got: ReceivedSignal | undefined;
		const handler = async (ctx: Context) => {
			got = await ctx.waitForSignal("done", { waitpoint: "job", reason: "waiting_for_tool_result" });
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect((await scene.get(id)).state.blockingReason).toBe("waiting_for_tool_result");
			const [waitpoint] = (await scene.backend.waitpoints.list(id)).waitpoints;
			const { token } = await scene.backend.waitpoints.token(id, waitpoint?.id ?? "");
			await scene.backend.waitpoints.signal(id, {
				waitpointId: waitpoint?.id ?? "",
				token,
				name: "done",
				payloadBase64: Buffer.from([0, 255]).toString("base64"),
				source: { type: "tool", identity: "renderer" },
				correlationId: "c-1",
			});
			await scene.clock.settle();
			expect(got).toMatchObject({
				name: "done",
				waitpoint: "job",
				payload: Uint8Array.of(0, 255),
				source: { type: "tool", identity: "renderer" },
				correlationId: "c-1",
				at: scene.now,
			});
			expect(await stateOf(scene, id)).toBe("completed");
		});
	});

	test("of two waits in a row the first is passed at once after a crash", async (scene) => {
		const handler = async (ctx: Context) => {
			const first = await ctx.waitForSignal("first");
			const second = await ctx.waitForSignal("second");
			return [first.payload, second.payload];
		};
		let id = "";
		await withWorker(scene, handler, async () => {
			id = await submitted(scene);
			await send(scene, id, "first", "first", 1);
			expect(await stateOf(scene, id)).toBe("suspended");
			expect((await stepsOf(scene, id)).map(({ name }) => name)).toEqual(["wait:first"]);
		});
		await send(scene, id, "second", "second", 2);
		// Whoever takes it now dies without a word.
		await scene.take();
		await scene.clock.advance(30_000);
		await withWorker(scene, handler, async () => {
			expect(await scene.ff.result(id)).toEqual([1, 2]);
			expect((await stepsOf(scene, id)).map(({ name }) => name)).toEqual(["wait:first", "wait:second"]);
		});
	});

	test("a wait that is over is not waited for again after a retry", async (scene) => {
		let tries = 0;
		const handler = async (ctx: Context) => {
			const { payload } = await ctx.waitForSignal("go");
			tries += 1;
			if (tries === 1) throw new Error("once more");
			return payload;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await send(scene, id, "go", "go", "now");
			await scene.clock.advance(1);
			expect([await scene.ff.result(id), tries]).toEqual(["now", 2]);
		});
	});

	test("waits of one name are told apart by the order of the calls", async (scene) => {
		const handler = async (ctx: Context) => [
			(await ctx.waitForSignal("go")).payload,
			(await ctx.waitForSignal("go")).payload,
		];
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await send(scene, id, "go", "go", 1);
			expect(await stateOf(scene, id)).toBe("suspended");
			await send(scene, id, "go", "go", 2);
			expect(await scene.ff.result(id)).toEqual([1, 2]);
			expect((await stepsOf(scene, id)).map(({ name, index }) => [name, index])).toEqual([
				["wait:go", 0],
				["wait:go", 1],
			]);
		});
	});

	test("a signal that came early is not waited for", async (scene) => {
		let runs = 0;
		const handler = async (ctx: Context) => {
			runs += 1;
			const { id, token, key } = await ctx.waitpoint("callback");
			await ctx.step("ask", () =>
				scene.backend.waitpoints.signal(ctx.execution.id, { waitpointId: id, token, name: "answer", payload: 42 }),
			);
			return (await ctx.waitForSignal("answer", { waitpoint: key })).payload;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			expect([await scene.ff.result(id), runs]).toEqual([42, 1]);
			expect(await scene.eventTypes(id)).not.toContain("suspended");
		});
	});

	test("a waitpoint is the same after a retry, and its callback URL leads to it", async (scene) => {
		const seen: unknown[] = [];
		const handler = async (ctx: Context) => {
			seen.push(await ctx.waitpoint("callback", { expiresMs: HOUR }));
			if (seen.length === 1) throw new Error("once more");
			return (await ctx.waitForSignal("callback")).payload;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(1);
			expect(seen).toHaveLength(2);
			expect(seen[1]).toEqual(seen[0]);
			const [waitpoint] = seen as { id: string; token: string; callbackUrl: string }[];
			expect(waitpoint).toEqual({
				id: expect.stringMatching(/^wp_/),
				key: "callback",
				token: expect.any(String),
				callbackUrl: `/v1/callbacks/${waitpoint?.id}?token=${encodeURIComponent(waitpoint?.token ?? "")}`,
			});
			await scene.backend.waitpoints.callback(waitpoint?.id ?? "", {
				token: waitpoint?.token ?? "",
				bytes: Buffer.from('{"a":1}'),
				contentType: "application/json",
			});
			await scene.clock.settle();
			expect(await scene.ff.result(id)).toEqual({ a: 1 });
		});
	});

	test("a wait that takes too long throws, and does so at once in a later attempt", async (scene) => {
		const seen: unknown[] = [];
		const handler = async (ctx: Context) => {
			const late = await ctx.waitForSignal("approval", { timeoutMs: HOUR }).catch((error: unknown) => {
				if (error instanceof HandlerSuspended) throw error;
				return error;
			});
			seen.push(late);
			if (seen.length === 1) throw new Error("once more");
			return "late";
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(HOUR - 1);
			expect([await stateOf(scene, id), seen]).toEqual(["suspended", []]);
			await scene.clock.advance(2);
			expect(await scene.ff.result(id)).toBe("late");
			expect(seen).toEqual([expect.any(WaitTimeout), expect.any(WaitTimeout)]);
			expect(seen[0]).toMatchObject({ wait: "signal approval", category: "timeout" });
		});
	});

	test("a wait may end its work when it takes too long", async (scene) => {
		const handler = (ctx: Context) => ctx.waitForSignal("go", { timeoutMs: 1000, timeoutBehavior: "cancel" });
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1000);
			expect(await stateOf(scene, id)).toBe("cancelled");
		});
	});

	test("an operator who resumes it by hand lets the wait return without a signal", async (scene) => {
		const handler = (ctx: Context) => ctx.waitForSignal("go");
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.backend.waitpoints.resume(id, {});
			await scene.clock.settle();
			expect(await scene.ff.result(id)).toEqual({ name: "resume", source: { type: "operator", identity: "" } });
		});
	});

	test("a handler waits for somebody to say yes or no", async (scene) => {
		const handler = (ctx: Context) => ctx.waitForApproval("deploy", { timeoutMs: HOUR });
		await withWorker(scene, handler, async () => {
			const yes = await submitted(scene);
			const no = await submitted(scene);
			expect((await scene.get(yes)).state.blockingReason).toBe("waiting_for_approval");
			await answer(scene, yes, "approve", { payload: { note: "fine" }, identity: "ada" });
			await answer(scene, no, "reject", { waitpoint: "deploy", identity: "bob" });
			expect(await scene.ff.result(yes)).toMatchObject({
				approved: true,
				payload: { note: "fine" },
				by: { type: "operator", identity: "ada" },
				signals: [{ name: "approve" }],
			});
			expect(await scene.ff.result(no)).toMatchObject({ approved: false, by: { identity: "bob" } });
			const late = await submitted(scene);
			await scene.clock.advance(HOUR);
			expect((await scene.get(late)).failure).toMatchObject({
				reason: "approval deploy did not come in time",
				category: "timeout",
			});
		});
	});

	test("an approval may take several people, each counted once, and one may refuse", async (scene) => {
		const handler = async (ctx: Context) => {
			const { approved, signals } = await ctx.waitForApproval("deploy", { approvals: 2 });
			return { approved, by: signals.map(({ source }) => source?.identity) };
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await answer(scene, id, "approve", { identity: "ada" });
			await answer(scene, id, "approve", { identity: "ada" });
			expect(await stateOf(scene, id)).toBe("suspended");
			await answer(scene, id, "approve", { identity: "bob" });
			expect(await scene.ff.result(id)).toEqual({ approved: true, by: ["ada", "bob"] });
			const other = await submitted(scene);
			await answer(scene, other, "approve", { identity: "ada" });
			await answer(scene, other, "reject", { identity: "bob" });
			expect(await scene.ff.result(other)).toMatchObject({ approved: false });
		});
	});

	test("a handler waits for any condition, and gets the signals that made it hold", async (scene) => {
		const handler = async (ctx: Context) => {
			const signals = await ctx.waitFor("both", {
				condition: {
					allOf: [
						{ signal: "a", waitpoint: "left" },
						{ signal: "b", waitpoint: "right" },
					],
				},
				waitpoints: ["left", "right"],
			});
			return signals.map(({ name, payload }) => [name, payload]);
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await send(scene, id, "right", "b", 2);
			expect(await stateOf(scene, id)).toBe("suspended");
			await send(scene, id, "left", "a", 1);
			expect(await scene.ff.result(id)).toEqual([
				["b", 2],
				["a", 1],
			]);
		});
	});

	test("a short sleep is slept under the lease, and once", async (scene) => {
		let tries = 0;
		const handler = async (ctx: Context) => {
			await ctx.sleep(5000);
			tries += 1;
			if (tries === 1) throw new Error("once more");
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(4999);
			expect([await stateOf(scene, id), tries]).toEqual(["active", 0]);
			await scene.clock.advance(2);
			expect([await stateOf(scene, id), tries]).toEqual(["completed", 2]);
			expect(await stepsOf(scene, id)).toMatchObject([{ name: "wait:sleep", durationMs: 5000 }]);
		});
	});

	test("a long sleep gives up the lease, and is slept once", async (scene) => {
		let tries = 0;
		const handler = async (ctx: Context) => {
			await ctx.sleep(HOUR);
			tries += 1;
			if (tries === 1) throw new Error("once more");
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene, tried());
			await scene.clock.advance(HOUR - 1);
			expect([await stateOf(scene, id), (await scene.get(id)).lease, tries]).toEqual(["suspended", undefined, 0]);
			await scene.clock.advance(2);
			expect([await stateOf(scene, id), tries]).toEqual(["completed", 2]);
			expect((await stepsOf(scene, id)).map(({ name }) => name)).toEqual(["wait:sleep"]);
		});
	});

	test("what is short depends on the lease", async (scene) => {
		const handler = (ctx: Context<number>, ms: number) => ctx.sleep(ms);
		await withWorker(
			scene,
			handler,
			async () => {
				const short = await submitted(scene, { input: 1000 });
				const long = await submitted(scene, { input: 1001 });
				expect([await stateOf(scene, short), await stateOf(scene, long)]).toEqual(["active", "suspended"]);
				await scene.clock.advance(1001);
				expect([await stateOf(scene, short), await stateOf(scene, long)]).toEqual(["completed", "completed"]);
			},
			{ leaseMs: 3000 },
		);
	});

	test("a short sleep ends when the run is aborted", async (scene) => {
		const handler = (ctx: Context) => ctx.sleep(4000);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.backend.executions.cancel(id);
			await scene.clock.settle();
			expect(await stateOf(scene, id)).toBe("cancelled");
			expect(await stepsOf(scene, id)).toEqual([]);
		});
	});

	test("a sleep that makes no sense is refused", async (scene) => {
		const handler = async (ctx: Context) => {
			const codes: unknown[] = [];
			for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY, "5"]) {
				codes.push(await ctx.sleep(ms as number).catch((error) => (error as FlowFabricError).details.field));
			}
			return codes;
		};
		await withWorker(scene, handler, async () => {
			expect(await scene.ff.result(await submitted(scene))).toEqual(["ms", "ms", "ms", "ms"]);
		});
	});

	test("a wait for something that cannot be is refused, and the handler keeps its lease", async (scene) => {
		const handler = (ctx: Context) =>
			ctx.waitFor("never", { condition: { allOf: [] } }).catch((error) => (error as FlowFabricError).code);
		await withWorker(scene, handler, async () => {
			expect(await scene.ff.result(await submitted(scene))).toBe("all_of_empty");
		});
	});

	test("a handler that swallows its unwinding can change nothing, and is told which line to mend", async (scene) => {
		const seen: unknown[] = [];
		const handler = async (ctx: Context) => {
			try {
				return (await ctx.waitForSignal("go")).payload;
			} catch (error) {
				seen.push(error);
				for (const call of [
					() => ctx.step("late", () => seen.push("ran")),
					() => ctx.progress({ percent: 100 }),
					() => ctx.usage("team", { tokens: 1 }),
					() => ctx.waitForSignal("other"),
					() => ctx.waitForApproval(),
					() => ctx.waitFor("x", { condition: { anySignal: true } }),
					() => ctx.waitpoint("late"),
					() => ctx.sleep(1),
				]) {
					seen.push(await call().catch((again: unknown) => again === error));
				}
				return "wrong";
			}
		};
		await withWorker(scene, handler, async ({ log }) => {
			const id = await submitted(scene);
			expect(seen).toEqual([expect.any(HandlerSuspended), ...Array(8).fill(true)]);
			expect(await stateOf(scene, id)).toBe("suspended");
			expect(await stepsOf(scene, id)).toEqual([]);
			const warnings = log.filter((line) => line.startsWith("warn"));
			expect(warnings).toHaveLength(1);
			expect(warnings[0]).toContain('ctx.waitForSignal("go")');
			expect(warnings[0]).toMatch(/handler-waits\.ts:\d+/);
			seen.length = 0;
			await send(scene, id, "go", "go", "right");
			expect([await scene.ff.result(id), seen]).toEqual(["right", []]);
		});
	});

	test("so is one that throws something else instead", async (scene) => {
		const handler = (ctx: Context) =>
			ctx.sleep(HOUR).catch((cause: unknown) => {
				throw new Error("it broke", { cause });
			});
		await withWorker(scene, handler, async ({ log }) => {
			const id = await submitted(scene);
			expect([await stateOf(scene, id), (await scene.get(id)).failure]).toEqual(["suspended", undefined]);
			expect(log.filter((line) => /^warn.*ctx\.sleep\(3600000\).*it broke/.test(line))).toHaveLength(1);
		});
	});

	test("one that cleans up and lets it pass is told nothing", async (scene) => {
		const ran: string[] = [];
		const handler = async (ctx: Context) => {
			try {
				await ctx.waitForSignal("go");
			} finally {
				ran.push("cleaned up");
			}
		};
		await withWorker(scene, handler, async ({ log }) => {
			const id = await submitted(scene);
			expect([await stateOf(scene, id), ran]).toEqual(["suspended", ["cleaned up"]]);
			expect(log.filter((line) => line.startsWith("warn"))).toEqual([]);
		});
	});

	test("a wait inside a step neither fails nor retries it", async (scene) => {
		let ran = 0;
		const handler = (ctx: Context) =>
			ctx.step(
				"ask",
				async () => {
					ran += 1;
					return (await ctx.waitForSignal("go")).payload;
				},
				{ retry: { backoff: { type: "fixed", delayMs: 0 } }, timeoutMs: HOUR },
			);
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await scene.clock.advance(1);
			expect([ran, await stepsOf(scene, id)]).toEqual([1, []]);
			await send(scene, id, "go", "go", "yes");
			expect([await scene.ff.result(id), ran]).toEqual(["yes", 2]);
		});
	});

	test("work that is asked to cancel does not begin to wait", async (scene) => {
		let proceed = () => {};
		const handler = async (ctx: Context) => {
			await new Promise<void>((resolve) => (proceed = resolve));
			await ctx.waitForSignal("go");
		};
		await withWorker(scene, handler, async ({ log }) => {
			const id = await submitted(scene);
			await scene.backend.executions.cancel(id, { reason: "enough" });
			proceed();
			await scene.clock.settle();
			expect(await stateOf(scene, id)).toBe("cancelled");
			expect(log.filter((line) => line.startsWith("warn"))).toEqual([]);
		});
	});

	test("a replay waits again, with keepSteps it does not", async (scene) => {
		const handler = async (ctx: Context) => (await ctx.waitForSignal("go")).payload;
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await send(scene, id, "go", "go", 1);
			await scene.ff.replay(id, { keepSteps: true });
			await scene.clock.settle();
			expect(await scene.ff.result(id)).toBe(1);
			await scene.ff.replay(id);
			await scene.clock.settle();
			expect(await stateOf(scene, id)).toBe("suspended");
			await send(scene, id, "go", "go", 2);
			expect(await scene.ff.result(id)).toBe(2);
		});
	});

	test("a wait whose signals are too large to be recorded is passed all the same", async (scene) => {
		const handler = async (ctx: Context) => {
			const signals = await ctx.waitFor("parts", {
				condition: { count: { n: 5, distinctBy: "signal" } },
				timeoutMs: HOUR,
			});
			await ctx.sleep(HOUR);
			return signals.length;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			for (let n = 0; n < 5; n++) await send(scene, id, "parts", `part-${n}`, Buffer.alloc(180_000));
			const reason = async () => (await scene.get(id)).state.blockingReason;
			// A claim that brings so much is answered over many turns, in which nothing else is under way.
			for (let n = 0; n < 50 && (await reason()) === "none"; n++) await scene.clock.settle();
			expect(await reason()).toBe("waiting_for_signal");
			expect(await stepsOf(scene, id)).toEqual([]);
			await scene.clock.advance(HOUR);
			expect(await scene.ff.result(id)).toBe(5);
		});
	});

	test("no token of a waitpoint is among the steps", async (scene) => {
		let token = "";
		const handler = async (ctx: Context) => {
			({ token } = await ctx.waitpoint("go"));
			return (await ctx.waitForSignal("go")).payload;
		};
		await withWorker(scene, handler, async () => {
			const id = await submitted(scene);
			await send(scene, id, "go", "go", 1);
			expect(await scene.ff.result(id)).toBe(1);
			expect(token.length).toBeGreaterThan(20);
			expect(JSON.stringify(await stepsOf(scene, id))).not.toContain(token);
			expect((await refusal(scene.backend.executions.steps("ex_1"))).code).toBe("invalid_input");
		});
	});
}
