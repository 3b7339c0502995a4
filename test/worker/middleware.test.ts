import { describe, expect, it } from "vitest";
import type { Middleware } from "../../src/index.ts";
import { Stage } from "./stage.ts";

describe("middleware", () => {
	it("wraps the handler, the first registered outermost", async () => {
		const stage = await Stage.open();
		const order: string[] = [];
		const named =
			(name: string): Middleware =>
			async (_ctx, next) => {
				order.push(`${name} in`);
				const result = await next();
				order.push(`${name} out`);
				return result;
			};
		const worker = stage.worker().use(named("outer")).use(named("inner"));
		worker.handle("job", () => {
			order.push("handler");
			return "done";
		});
		await worker.start();
		const id = await stage.submit();
		expect(order).toEqual(["outer in", "inner in", "handler", "inner out", "outer out"]);
		expect(await stage.ff.result(id)).toBe("done");
	});

	it("sees the context and may change the result", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().use(async (ctx, next) => ({ kind: ctx.execution.kind, wrapped: await next() }));
		await worker.handle("job", () => "inner").start();
		expect(await stage.ff.result(await stage.submit())).toEqual({ kind: "job", wrapped: "inner" });
	});

	it("sees what the handler throws, and may replace it", async () => {
		const stage = await Stage.open();
		const seen: unknown[] = [];
		const worker = stage.worker().use(async (_ctx, next) => {
			try {
				return await next();
			} catch (error) {
				seen.push(error);
				throw new Error("replaced");
			}
		});
		const thrown = new Error("original");
		await worker
			.handle("job", () => {
				throw thrown;
			})
			.start();
		const id = await stage.submit();
		expect(seen).toEqual([thrown]);
		expect((await stage.backend.executions.get(id)).failure?.reason).toBe("replaced");
	});

	it("may turn a failure into a result", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().use((_ctx, next) => next().catch(() => "rescued"));
		await worker.handle("job", () => Promise.reject(new Error("broken"))).start();
		expect(await stage.ff.result(await stage.submit())).toBe("rescued");
	});

	it("may answer without the handler", async () => {
		const stage = await Stage.open();
		let ran = false;
		const worker = stage.worker().use(async () => "short cut");
		await worker
			.handle("job", () => {
				ran = true;
			})
			.start();
		expect(await stage.ff.result(await stage.submit())).toBe("short cut");
		expect(ran).toBe(false);
	});

	it("that rejects fails the attempt", async () => {
		const stage = await Stage.open();
		const worker = stage.worker().use(async () => {
			throw new Error("no tracing");
		});
		await worker.handle("job", () => "done").start();
		const id = await stage.submit();
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "failed",
			failure: { reason: "no tracing" },
		});
	});

	it("that throws at once fails the attempt, and the worker goes on", async () => {
		const stage = await Stage.open();
		let fault = true;
		const worker = stage.worker().use((_ctx, next) => {
			if (fault) throw new Error("broken hook");
			return next();
		});
		await worker.handle("job", () => "done").start();
		const id = await stage.submit();
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "failed",
			failure: { reason: "broken hook" },
		});
		fault = false;
		expect(await stage.ff.result(await stage.submit())).toBe("done");
	});

	it("that throws at once does not lose what was claimed beside it", async () => {
		const stage = await Stage.open();
		await stage.backend.executions.createMany(Array.from({ length: 5 }, () => ({ kind: "job" })));
		const worker = stage.worker().use(() => {
			throw new Error("broken hook");
		});
		worker.handle("job", () => "done");
		await worker.start().catch(() => {});
		await stage.clock.settle();
		expect((await stage.backend.executions.list({ state: "failed" })).executions).toHaveLength(5);
	});

	it("runs anew for every attempt", async () => {
		const stage = await Stage.open();
		const attempts: number[] = [];
		const worker = stage.worker().use((ctx, next) => {
			attempts.push(ctx.attempt.index);
			return next();
		});
		await worker.handle("job", () => Promise.reject(new Error("broken"))).start();
		await stage.submit(undefined, {
			policy: { retry: { maxRetries: 2, backoff: { type: "fixed", delayMs: 10 } } },
		});
		await stage.clock.advance(10);
		await stage.clock.advance(10);
		expect(attempts).toEqual([0, 1, 2]);
	});
});
