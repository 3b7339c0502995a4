import { describe, expect, it } from "vitest";
import { RetryAfter, TerminalError } from "../../src/index.ts";
import { gate, Stage, unavailable, withCalls } from "./stage.ts";

const retry = { maxRetries: 2, backoff: { type: "fixed" as const, delayMs: 1000 } };

/** Runs one execution whose handler throws; returns it as it is afterwards. */
async function throwing(thrown: unknown, policy: object = { retry }) {
	const stage = await Stage.open();
	await stage.run(() => {
		throw thrown;
	});
	const id = await stage.submit(undefined, { policy });
	return { stage, id, execution: await stage.backend.executions.get(id) };
}

describe("what a handler returns", () => {
	it("nothing leaves no result", async () => {
		const stage = await Stage.open();
		await stage.run(() => undefined);
		const id = await stage.submit();
		expect(await stage.ff.result(id)).toBeUndefined();
		await expect(stage.backend.executions.result(id)).rejects.toMatchObject({ code: "result_not_found" });
	});

	it("null is a result", async () => {
		const stage = await Stage.open();
		await stage.run(() => null);
		expect(await stage.ff.result(await stage.submit())).toBeNull();
	});

	it("bytes come back as bytes", async () => {
		const stage = await Stage.open();
		await stage.run(() => Uint8Array.from([1, 0, 255]));
		const id = await stage.submit();
		expect(await stage.ff.result(id)).toEqual(Uint8Array.from([1, 0, 255]));
		expect((await stage.backend.executions.result(id)).contentType).toBe("application/octet-stream");
	});

	it("a Buffer that is part of a larger one comes back alone", async () => {
		const stage = await Stage.open();
		await stage.run(() => Buffer.from("abcdef").subarray(2, 4));
		expect(Buffer.from((await stage.ff.result(await stage.submit())) as Uint8Array).toString()).toBe("cd");
	});

	it("more than 1 MiB fails the execution for good, and says why", async () => {
		const stage = await Stage.open();
		await stage.run(() => "x".repeat(1024 * 1024));
		const id = await stage.submit(undefined, { policy: { retry } });
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "failed",
			retries: 0,
			failure: { category: "permanent", reason: expect.stringContaining("1048576") },
		});
	});

	for (const [what, result] of [
		["a bigint", 10n],
		["a function", () => 1],
		["a symbol", Symbol("x")],
		["a loop", loop()],
	] as const) {
		it(`${what}, which JSON cannot hold, fails the execution for good`, async () => {
			const stage = await Stage.open();
			await stage.run(() => result);
			const id = await stage.submit(undefined, { policy: { retry } });
			expect(await stage.backend.executions.get(id)).toMatchObject({
				publicState: "failed",
				failure: { category: "permanent", reason: expect.stringContaining("result") },
			});
		});
	}
});

describe("what a handler throws", () => {
	it("is retried by the policy, with its message", async () => {
		const { stage, id, execution } = await throwing(new Error("connection reset"));
		expect(execution).toMatchObject({
			publicState: "delayed",
			retries: 1,
			failure: { reason: "connection reset", category: "error" },
		});
		await stage.clock.advance(1000);
		await stage.clock.advance(1000);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "failed", retries: 2 });
		expect((await stage.backend.executions.attempts(id)).map(({ type }) => type)).toEqual([
			"initial",
			"retry",
			"retry",
		]);
	});

	it("fails the execution when there is no retry policy", async () => {
		const { execution } = await throwing(new Error("broken"), {});
		expect(execution).toMatchObject({ publicState: "failed", failure: { reason: "broken" } });
	});

	it("a rejected promise counts like a throw", async () => {
		const stage = await Stage.open();
		await stage.run(() => Promise.reject(new Error("later")));
		const id = await stage.submit();
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "failed",
			failure: { reason: "later" },
		});
	});

	it("TerminalError is never retried", async () => {
		const { execution } = await throwing(new TerminalError("no such customer"));
		expect(execution).toMatchObject({
			publicState: "failed",
			retries: 0,
			failure: { reason: "no such customer", category: "permanent" },
		});
	});

	it("RetryAfter sets the wait", async () => {
		const { stage, execution } = await throwing(new RetryAfter(77_000, "busy"));
		expect(execution).toMatchObject({
			publicState: "delayed",
			delayUntil: stage.clock.now() + 77_000,
			failure: { reason: "busy" },
		});
	});

	it("RetryAfter asks for another try without a policy too, three times", async () => {
		const { stage, id, execution } = await throwing(new RetryAfter(500, "busy"), {});
		expect(execution).toMatchObject({ publicState: "delayed", delayUntil: stage.clock.now() + 500, retries: 1 });
		for (let n = 0; n < 4; n++) await stage.clock.advance(500);
		expect(await stage.backend.executions.get(id)).toMatchObject({ publicState: "failed", retries: 3 });
	});

	for (const ms of [100.7, -5, Number.NaN, Number.POSITIVE_INFINITY]) {
		it(`RetryAfter(${ms}) still ends the attempt and is retried`, async () => {
			const { execution } = await throwing(new RetryAfter(ms));
			expect(execution).toMatchObject({ reclaims: 0, attempt: { state: "ended_failure" } });
			expect(execution.retries).toBeGreaterThan(0);
		});
	}

	it("the category on an error is kept, and the policy heeds it", async () => {
		const error = Object.assign(new Error("limit"), { category: "rate_limit" });
		const { execution } = await throwing(error, { retry: { ...retry, nonRetryableCategories: ["rate_limit"] } });
		expect(execution).toMatchObject({ publicState: "failed", failure: { category: "rate_limit" } });
	});

	it("RetryAfter with a category keeps it, and the policy heeds it", async () => {
		const error = Object.assign(new RetryAfter(500), { category: "net" });
		const { stage, execution } = await throwing(error, { retry: { ...retry, retryableCategories: ["net"] } });
		expect(execution).toMatchObject({
			publicState: "delayed",
			delayUntil: stage.clock.now() + 500,
			failure: { category: "net" },
		});
	});

	it("a category that cannot be one is an error like any other", async () => {
		for (const category of ["", "x".repeat(65), 7, null]) {
			const { execution } = await throwing(Object.assign(new Error("x"), { category }), {});
			expect(execution).toMatchObject({ publicState: "failed", failure: { category: "error" } });
		}
	});

	it("anything can be thrown", async () => {
		const bare = Object.create(null) as object;
		for (const thrown of ["just text", 42, undefined, null, { code: 5 }, new Error(""), Symbol("s"), bare]) {
			const { execution } = await throwing(thrown, {});
			expect(execution).toMatchObject({ publicState: "failed", failure: { reason: expect.stringMatching(/./) } });
		}
	});

	it("a very long message is cut, not refused", async () => {
		const { execution } = await throwing(new Error("y".repeat(10_000)), {});
		expect(execution.failure?.reason).toMatch(/^y{1000,4096}$/);
	});

	it("after a cancel was asked for makes it cancelled, not failed", async () => {
		const stage = await Stage.open();
		await stage.run(
			(ctx) => new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("gave up")))),
		);
		const id = await stage.submit(undefined, { policy: { retry } });
		await stage.backend.executions.cancel(id);
		await stage.clock.settle();
		const execution = await stage.backend.executions.get(id);
		expect(execution).toMatchObject({ publicState: "cancelled", retries: 0 });
		expect(execution).not.toHaveProperty("failure");
	});
});

describe("an outcome that cannot be told", () => {
	it("because the store is away is told again until it is heard", async () => {
		const stage = await Stage.open();
		let tries = 0;
		const backend = withCalls(stage.backend, {
			complete: async (id, request) => {
				if (++tries < 5) throw unavailable();
				return stage.backend.leases.complete(id, request);
			},
		});
		await stage.run(() => "heard", {}, backend);
		const id = await stage.submit();
		expect(tries).toBe(1);
		await stage.clock.advance(30_000);
		expect(tries).toBe(5);
		expect(await stage.ff.result(id)).toBe("heard");
	});

	it("because of any other fault on the way is told again too", async () => {
		const stage = await Stage.open();
		let tries = 0;
		const backend = withCalls(stage.backend, {
			fail: async (id, request) => {
				if (++tries < 3) throw new Error("socket hang up");
				return stage.backend.leases.fail(id, request);
			},
		});
		await stage.run(() => Promise.reject(new Error("broken")), {}, backend);
		const id = await stage.submit();
		await stage.clock.advance(2500);
		expect(await stage.backend.executions.get(id)).toMatchObject({
			publicState: "failed",
			failure: { reason: "broken" },
			reclaims: 0,
		});
	});

	it("does not keep the worker from other work", async () => {
		const stage = await Stage.open();
		const stuck = await stage.ff.submit("job", "stuck");
		const backend = withCalls(stage.backend, {
			complete: async (id, request) => {
				if (id === stuck.id) throw unavailable();
				return stage.backend.leases.complete(id, request);
			},
		});
		await stage.run(() => "done", { concurrency: 2 }, backend);
		const others = [await stage.submit(1), await stage.submit(2), await stage.submit(3)];
		for (const id of others) expect(await stage.state(id)).toBe("completed");
	});

	it("is dropped when the lease is lost meanwhile", async () => {
		const stage = await Stage.open();
		const hold = gate();
		const backend = withCalls(stage.backend, {
			complete: async (id, request) => {
				await hold.passed;
				return stage.backend.leases.complete(id, request);
			},
		});
		const worker = await stage.run(() => "first", { concurrency: 1 }, backend);
		const id = await stage.submit();
		await stage.backend.executions.cancel(id, { mode: "force" });
		hold.open();
		await stage.clock.settle();
		expect(await stage.state(id)).toBe("cancelled");
		expect(worker.running).toBe(0);
		const next = await stage.submit();
		expect(await stage.ff.result(next)).toBe("first");
	});
});

function loop(): object {
	const value: Record<string, unknown> = {};
	value.self = value;
	return value;
}
