import pino from "pino";
import { describe, expect, it } from "vitest";
import { RetryAfter, TerminalError } from "../../src/index.ts";
import { errorDetail } from "../../src/worker/error-detail.ts";
import { Stage } from "./stage.ts";

class PaymentRefused extends Error {
	override name = "PaymentRefused";
}

/** Runs one execution whose handler throws; returns it as it is afterwards, and what was logged. */
async function throwing(thrown: unknown) {
	const stage = await Stage.open();
	await stage.run(() => {
		throw thrown;
	});
	const id = await stage.submit();
	const execution = await stage.backend.executions.get(id);
	return { stage, id, execution, failure: execution.failure, log: stage.log };
}

describe("what is kept of an error", () => {
	it("its name is in the reason, and in the event", async () => {
		const { stage, id, failure } = await throwing(new TypeError("x is not a function"));
		expect(failure?.reason).toBe("TypeError: x is not a function");
		const { events } = await stage.backend.executions.events(id);
		expect(events.at(-1)).toMatchObject({ type: "failed", reason: "TypeError: x is not a function" });
		expect(JSON.stringify(events)).not.toContain("error-details.test.ts");
	});

	it("a name that says nothing is left out of the reason", async () => {
		expect((await throwing(new Error("plain"))).failure?.reason).toBe("plain");
		expect((await throwing(new TerminalError("never"))).failure?.reason).toBe("never");
		expect((await throwing(new TypeError(""))).failure?.reason).toBe("TypeError");
		expect((await throwing(new Error(""))).failure?.reason).toBe("failed without a message");
	});

	it("its stack is in the detail, under the name it has", async () => {
		const { stage, id, failure } = await throwing(new PaymentRefused("card expired"));
		expect(failure?.detail).toMatch(/^PaymentRefused: card expired\n {4}at .*error-details\.test\.ts/);
		const [attempt] = await stage.backend.executions.attempts(id);
		expect(attempt?.failure?.detail).toBe(failure?.detail);
	});

	it("its causes are in the detail, each with its stack", async () => {
		const root = new RangeError("port 70000");
		const middle = new Error("connect failed", { cause: root });
		const { failure } = await throwing(new PaymentRefused("no answer", { cause: middle }));
		expect(failure?.detail).toMatch(
			/PaymentRefused: no answer\n {4}at [\s\S]*caused by: Error: connect failed\n {4}at [\s\S]*caused by: RangeError: port 70000\n {4}at /,
		);
	});

	it("the errors of an AggregateError are in the detail, the first ten", async () => {
		const errors = Array.from({ length: 12 }, (_, n) => new Error(`mirror ${n} is down`));
		const { failure } = await throwing(new AggregateError(errors, "all mirrors failed"));
		expect(failure?.reason).toBe("AggregateError: all mirrors failed");
		expect(failure?.detail).toMatch(/\[0\] Error: mirror 0 is down\n {6}at /);
		expect(failure?.detail).toContain("[9] Error: mirror 9 is down");
		expect(failure?.detail).not.toContain("mirror 10");
		expect(failure?.detail).toContain("and 2 more");
	});

	it("errors that cause one another are told once", () => {
		const first = new Error("first");
		const second = new Error("second", { cause: first });
		first.cause = second;
		expect(errorDetail(first)).toMatch(
			/^Error: first[\s\S]*caused by: Error: second[\s\S]*caused by: Error: first \(told above\)$/,
		);
	});

	it("a long chain of causes ends somewhere", () => {
		let error = new Error("root");
		for (let n = 0; n < 1000; n++) error = new Error(`level ${n}`, { cause: error });
		const detail = errorDetail(error);
		expect(detail).toContain("level 991");
		expect(detail).not.toContain("level 980");
	});

	it("other properties of an error, which may hold secrets, are left out", async () => {
		const error = Object.assign(new Error("401"), { config: { headers: { authorization: "Bearer hush" } } });
		expect(JSON.stringify((await throwing(error)).execution)).not.toContain("hush");
	});

	it("a detail that is too long is cut, says so, and cuts no character in two", async () => {
		const errors = Array.from({ length: 10 }, (_, n) => new Error(`${n}${"€".repeat(4000)}`));
		const { failure } = await throwing(new AggregateError(errors, "many"));
		const { detail = "" } = failure ?? {};
		expect(Buffer.byteLength(detail)).toBeLessThanOrEqual(16_384);
		expect(Buffer.byteLength(detail)).toBeGreaterThan(16_300);
		expect(detail).toMatch(/… cut: \d+ bytes were too many$/);
		expect(detail).not.toContain("\ufffd");
	});

	it("what cannot be shown fails the attempt all the same", async () => {
		const hostile = new Error("x");
		Object.defineProperty(hostile, "message", {
			get: () => {
				throw new Error("no");
			},
		});
		expect((await throwing(hostile)).execution.publicState).toBe("failed");
	});
});

describe("what is kept of anything else that is thrown", () => {
	it("is shown as it prints", async () => {
		expect((await throwing({ status: 429 })).failure).toEqual({ reason: "{ status: 429 }", category: "error" });
		expect((await throwing("just text")).failure).toEqual({ reason: "just text", category: "error" });
		expect((await throwing(undefined)).failure?.reason).toBe("undefined");
		expect((await throwing([1, "a"])).failure?.reason).toBe("[ 1, 'a' ]");
	});

	it("has a detail when it is longer than a reason may be", async () => {
		const { failure } = await throwing(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`field${n}`, n])));
		expect(failure?.reason).toHaveLength(2048);
		expect(failure?.detail).toContain("field299: 299");
	});
});

describe("the log of a worker", () => {
	it("tells a failure once, with its stack", async () => {
		const { log, id } = await throwing(new PaymentRefused("card expired"));
		const told = log.filter((line) => line.includes("card expired"));
		expect(told).toHaveLength(1);
		expect(told[0]).toMatch(new RegExp(`^error job ${id}: failed: PaymentRefused: card expired\n {4}at `));
	});

	it("says when it is tried again", async () => {
		const { log, stage } = await throwing(new RetryAfter(1000, "busy"));
		const until = new Date(stage.clock.now() + 1000).toISOString();
		expect(log).toContainEqual(expect.stringContaining(`failed, and will be retried at ${until}: RetryAfter: busy`));
	});

	it("takes fields beside a message", async () => {
		const stage = await Stage.open();
		await stage.run((ctx) => ctx.log.info({ userId: 7 }, "charged"));
		const id = await stage.submit();
		expect(stage.log).toContain(`info job ${id}: charged { userId: 7 }`);
	});

	it("passes fields on to pino, with kind, execution and attempt", async () => {
		const stage = await Stage.open();
		const lines: Record<string, unknown>[] = [];
		const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
		await stage.run(
			(ctx) => {
				ctx.log.info({ userId: 7 }, "charged");
				ctx.log.warn("careful");
			},
			{ log },
		);
		const executionId = await stage.submit();
		const about = { kind: "job", executionId, attempt: 0 };
		expect(lines).toContainEqual(expect.objectContaining({ ...about, userId: 7, msg: "charged", level: 30 }));
		expect(lines).toContainEqual(expect.objectContaining({ ...about, msg: "careful", level: 40 }));
	});
});
