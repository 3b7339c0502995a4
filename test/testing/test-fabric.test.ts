import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FlowFabric } from "../../src/index.ts";
import { openTest, type TestFabric } from "../../src/testing/index.ts";

let ff: TestFabric;
beforeEach(async () => {
	ff = await openTest();
});
afterEach(() => ff.close());

const DAY = 86_400_000;

test("it is a FlowFabric, at the time the test gives", async () => {
	const later = await openTest({ now: 5_000_000, partitions: 2 });
	expect(later).toBeInstanceOf(FlowFabric);
	const { id } = await later.submit("job");
	expect((await later.get(id)).createdAt).toBe(5_000_000);
	await later.advance(DAY);
	expect(later.now).toBe(5_000_000 + DAY);
	await later.close();
});

test("options and times that are not valid are refused by name", async () => {
	await expect(openTest({ nwo: 1 } as never)).rejects.toThrow("nwo: is not an option of openTest; did you mean now?");
	await expect(openTest({ now: -1 })).rejects.toThrow("now: must be");
	await expect(openTest(null as never)).rejects.toThrow("options: must be an object");
	await expect(ff.advance(-1)).rejects.toThrow("ms: must be");
});

test("every retry happens at its own time, however long time passes at once", async () => {
	const tried: number[] = [];
	const worker = ff.worker().handle("job", () => {
		tried.push(ff.now);
		throw new Error("not yet");
	});
	await worker.start();
	const from = ff.now;
	const policy = { retry: { maxRetries: 3, backoff: { type: "fixed" as const, delayMs: 3_600_000 } } };
	const run = await ff.submit("job", undefined, { policy });
	await ff.advance(DAY);
	expect(tried.map((at) => (at - from) / 3_600_000)).toEqual([0, 1, 2, 3]);
	expect((await ff.get(run.id)).publicState).toBe("failed");
});

test("a handler that runs for an hour keeps its lease", async () => {
	let finish = () => {};
	const worker = ff.worker().handle("job", () => new Promise<void>((resolve) => (finish = resolve)));
	await worker.start();
	const run = await ff.submit("job");
	await ff.advance(3_600_000);
	expect(ff.running).toBe(1);
	finish();
	await run.result();
	expect((await ff.attempts(run.id)).map(({ type }) => type)).toEqual(["initial"]);
});

test("a handler whose lease ends is aborted, and what it says afterwards counts for nothing", async () => {
	const aborts: unknown[] = [];
	const worker = ff.worker({ log: { debug() {}, info() {}, warn() {}, error() {} } });
	worker.handle("job", (ctx) => {
		if (ctx.attempt.index > 0) return "second";
		return new Promise((resolve) => {
			ctx.signal.addEventListener("abort", () => {
				aborts.push(ctx.signal.reason);
				resolve("first");
			});
		});
	});
	await worker.start();
	const run = await ff.submit("job");
	await ff.expireLeases();
	expect(await run.result()).toBe("second");
	expect(aborts).toMatchObject([{ name: "HandlerAborted", why: "lease_lost" }]);
	expect((await ff.attempts(run.id)).map(({ type }) => type)).toEqual(["initial", "reclaim"]);
});

test("a request that is lost does nothing, one whose reply is lost was done, and each happens once", async () => {
	ff.loseRequest("executions.create");
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "unreachable", retryable: true });
	expect((await ff.list()).executions).toEqual([]);
	ff.loseReply("executions.create");
	await expect(ff.submit("job")).rejects.toMatchObject({ code: "unreachable", retryable: true });
	expect((await ff.list()).executions).toHaveLength(1);
	await ff.submit("job");
	expect((await ff.list()).executions).toHaveLength(2);
});

test("a worker that does not hear that its result arrived tells it again, and it counts once", async () => {
	let ran = 0;
	const worker = ff.worker().handle("job", () => ++ran);
	await worker.start();
	ff.loseReply("leases.complete");
	const run = await ff.submit("job");
	expect(await ff.fastForward(run.result())).toBe(1);
	await ff.advance(60_000);
	expect(ran).toBe(1);
	expect((await ff.get(run.id)).publicState).toBe("completed");
});

test("what never comes is given up after the time that was allowed", async () => {
	const run = await ff.submit("nobody runs this");
	await expect(ff.fastForward(run.result(), { withinMs: DAY })).rejects.toMatchObject({ code: "wait_timeout" });
	await expect(ff.fastForward(Promise.reject(new Error("its own")))).rejects.toThrow("its own");
});

test("fake timers of a test runner do not stop it", async () => {
	vi.useFakeTimers();
	try {
		const worker = ff.worker().handle("job", async (ctx) => {
			await ctx.sleep(DAY);
			return "awake";
		});
		await worker.start();
		const run = await ff.submit("job");
		expect(await ff.fastForward(run.result())).toBe("awake");
	} finally {
		vi.useRealTimers();
	}
});
