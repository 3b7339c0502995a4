import { describe, expect, it } from "vitest";
import { type Backend, type Context, type FlowFabricError, HandlerAborted, type LeaseCalls } from "../../src/index.ts";
import { gate, Stage, unavailable, withCalls } from "./stage.ts";

/** Makes each call of these, then says that there was no answer, so many times before it is given. */
function losingAnswers(backend: Backend, times: number, made: string[]): Backend {
	const lossy = <N extends "recordStep" | "suspend" | "createWaitpoint">(name: N): LeaseCalls[N] => {
		const lost = new Map<string, number>();
		return (async (id: string, request: object) => {
			const answer = await (backend.leases[name] as (id: string, request: object) => Promise<unknown>)(id, request);
			const call = `${name} ${JSON.stringify(request)}`;
			made.push(name);
			const count = lost.get(call) ?? 0;
			lost.set(call, count + 1);
			if (count < times) throw unavailable();
			return answer;
		}) as unknown as LeaseCalls[N];
	};
	return withCalls(backend, {
		recordStep: lossy("recordStep"),
		suspend: lossy("suspend"),
		createWaitpoint: lossy("createWaitpoint"),
	});
}

const noWarnings = (stage: Stage) => expect(stage.log.filter((line) => /^(warn|error)/.test(line))).toEqual([]);

describe("a handler whose answers get lost", () => {
	it("runs each step once, waits once, and goes on", async () => {
		const stage = await Stage.open();
		const made: string[] = [];
		const ran: string[] = [];
		const handler = async (ctx: Context) => {
			const a = await ctx.step("a", () => ran.push("a"));
			const { id, token } = await ctx.waitpoint("go");
			await ctx.step("ask", () => ran.push(`${id} ${token}`));
			const { payload } = await ctx.waitForSignal("go");
			return [a, payload, await ctx.step("b", () => ran.push("b"))];
		};
		const worker = stage.worker({}, losingAnswers(stage.backend, 2, made)).handle("job", handler);
		await worker.start();
		const id = await stage.submit();
		await stage.clock.advance(2000);
		expect(await stage.state(id)).toBe("suspended");
		const [waitpointId = "", token = ""] = ran[1]?.split(" ") ?? [];
		await stage.backend.waitpoints.signal(id, { waitpointId, token, name: "go", payload: 7 });
		await stage.clock.advance(2000);
		expect(await stage.ff.result(id)).toEqual([1, 7, 3]);
		expect([ran[0], ran[2], ran.length]).toEqual(["a", "b", 3]);
		expect((await stage.ff.steps(id)).steps.map(({ name }) => name)).toEqual(["a", "ask", "wait:go", "b"]);
		const types = (await stage.ff.events(id)).events.map(({ type }) => type);
		expect(types.filter((type) => type === "suspended")).toHaveLength(1);
		expect(made.filter((name) => name === "recordStep")).toHaveLength(4 * 3);
		noWarnings(stage);
	});
});

describe("a store that is away", () => {
	it("holds a handler up, and loses none of its steps", async () => {
		const stage = await Stage.open();
		let isAway = true;
		let ran = 0;
		const away = withCalls(stage.backend, {
			recordStep: async (id, request) => {
				if (isAway) throw unavailable();
				return stage.backend.leases.recordStep(id, request);
			},
		});
		const worker = stage.worker({}, away).handle("job", (ctx: Context) => ctx.step("a", () => ++ran));
		await worker.start();
		const id = await stage.submit();
		await stage.clock.advance(20_000);
		expect([await stage.state(id), ran]).toEqual(["active", 1]);
		isAway = false;
		await stage.clock.advance(5000);
		expect([await stage.ff.result(id), ran]).toEqual([1, 1]);
	});

	it("keeps a handler from its recorded steps no longer than it is away", async () => {
		const stage = await Stage.open();
		const id = await stage.submit();
		const [claimed] = await stage.backend.leases.claim({ workerId: "w", instanceId: "other", leaseMs: 1000 });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		await stage.backend.leases.recordStep(id, { fence, name: "a", index: 0, result: "before", startedAt: 0 });
		await stage.clock.advance(1000);
		let asked = 0;
		const executions = new Proxy(stage.backend.executions, {
			get(target, name: keyof Backend["executions"]) {
				if (name !== "steps" || asked++ > 2) return target[name].bind(target as never);
				return async () => {
					throw unavailable();
				};
			},
		});
		const away = new Proxy(stage.backend, {
			get: (target, name: keyof Backend) => (name === "executions" ? executions : target[name]),
		});
		const worker = stage.worker({}, away).handle("job", (ctx: Context) => ctx.step("a", () => "anew"));
		await worker.start();
		await stage.clock.advance(5000);
		expect([await stage.ff.result(id), asked]).toEqual(["before", 4]);
	});

	it("does not hold up a handler whose lease is lost meanwhile", async () => {
		const stage = await Stage.open();
		const seen: unknown[] = [];
		const away = withCalls(stage.backend, {
			recordStep: async () => {
				throw unavailable();
			},
			renew: async () => {
				throw unavailable();
			},
		});
		const handler = (ctx: Context) => ctx.step("a", () => 1).catch((error: unknown) => seen.push(error));
		const worker = stage.worker({}, away).handle("job", handler);
		await worker.start();
		await stage.submit();
		await stage.clock.advance(3000);
		expect(seen).toEqual([expect.any(HandlerAborted)]);
		expect(seen[0]).toMatchObject({ why: "lease_lost" });
	});
});

describe("a handler", () => {
	it("runs steps side by side that heed its signal, without a word of warning", async () => {
		const stage = await Stage.open();
		const warnings: unknown[] = [];
		const listener = (warning: Error) => warnings.push(warning);
		process.on("warning", listener);
		const { passed, open } = gate();
		const handler = (ctx: Context) =>
			Promise.all(Array.from({ length: 50 }, () => ctx.step("part", () => passed, { timeoutMs: 1000 })));
		await stage.run(handler);
		const id = await stage.submit();
		open();
		await stage.clock.settle();
		expect(await stage.state(id)).toBe("completed");
		process.off("warning", listener);
		expect(warnings).toEqual([]);
	});

	it("is not kept waiting by a step that was refused for what it returned", async () => {
		const stage = await Stage.open();
		const handler = async (ctx: Context) => {
			const refused: unknown = await ctx.step("big", () => 1n).catch((error: unknown) => error);
			const { name, cause } = refused as Error;
			return [name, (cause as FlowFabricError).code, await ctx.step("small", () => 1)];
		};
		await stage.run(handler);
		const id = await stage.submit();
		expect(await stage.ff.result(id)).toEqual(["TerminalError", "invalid_input", 1]);
	});

	it("that goes on after it was suspended is no longer counted among those that run once it ends", async () => {
		const stage = await Stage.open();
		const { passed, open } = gate();
		const handler = async (ctx: Context) => {
			await ctx.waitForSignal("go").catch(() => {});
			await passed;
		};
		const worker = await stage.run(handler, { concurrency: 1 });
		const id = await stage.submit();
		expect([await stage.state(id), worker.running]).toEqual(["suspended", 1]);
		// Its lease is nobody's business any more, however long it takes.
		await stage.clock.advance(10_000);
		open();
		await stage.clock.settle();
		expect([await stage.state(id), worker.running]).toEqual(["suspended", 0]);
		expect(stage.log.filter((line) => line.startsWith("warn"))).toHaveLength(1);
	});
});
