import { expect } from "vitest";
import { type PublicCase, refusal, unknownId } from "../scene.ts";

const retry = { backoff: { type: "fixed", delayMs: 1000 } } as const;
const detail = "TypeError: x is not a function\n    at handler (work.ts:3:7)\ncaused by: Error: näher ✓";

/** What is told of a failure besides its reason. */
export function failureDetailCases(test: PublicCase): void {
	test("the detail of a failure is on the single read, on its attempt and in the explanation", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken", detail });
		const failure = { reason: "broken", category: "error", detail };
		expect((await scene.get(id)).failure).toEqual(failure);
		expect((await scene.backend.executions.wait(id, { timeoutMs: 0 })).failure).toEqual(failure);
		expect((await scene.backend.executions.attempts(id)).map((attempt) => attempt.failure)).toEqual([failure]);
		expect((await scene.backend.executions.explain(id)).failure).toEqual(failure);
	});

	test("lists, events and claims leave the detail out", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry } });
		await scene.backend.leases.fail(id, { fence, reason: "broken", detail });
		const { executions } = await scene.backend.executions.list();
		expect(executions[0]?.failure).toEqual({ reason: "broken", category: "error" });
		expect(JSON.stringify(await scene.events(id))).not.toContain("TypeError");
		await scene.clock.advance(1000);
		expect(JSON.stringify(await scene.take())).not.toContain("TypeError");
	});

	test("every attempt keeps its own detail, over retries and a replay", async (scene) => {
		const { id, fence } = await scene.start({ policy: { retry } });
		await scene.backend.leases.fail(id, { fence, reason: "first", detail: "stack of the first" });
		await scene.clock.advance(1000);
		const second = await scene.take();
		expect((await scene.get(id)).failure).toMatchObject({ reason: "first", detail: "stack of the first" });
		await scene.backend.leases.fail(id, { fence: second.fence, reason: "second", retryable: false });
		expect((await scene.get(id)).failure).toEqual({ reason: "second", category: "error" });
		await scene.backend.executions.replay(id);
		expect(await scene.get(id)).not.toHaveProperty("failure");
		const third = await scene.take();
		await scene.backend.leases.fail(id, {
			fence: third.fence,
			reason: "third",
			detail: "of the third",
			retryable: false,
		});
		const attempts = await scene.backend.executions.attempts(id);
		expect(attempts.map(({ failure }) => failure?.detail)).toEqual(["stack of the first", undefined, "of the third"]);
	});

	test("attempts come in pages, in the order they were made, and end early when their failures are large", async (scene) => {
		const often = { maxRetries: 100, backoff: { type: "fixed", delayMs: 1 } } as const;
		const { id, fence } = await scene.start({ policy: { retry: often } });
		const fail = (held: typeof fence) =>
			scene.backend.leases.fail(id, { fence: held, reason: "broken", detail: "\u0001".repeat(16_384) });
		await fail(fence);
		for (let n = 1; n < 30; n++) {
			await scene.clock.advance(1);
			await fail((await scene.take()).fence);
		}
		const { executions } = scene.backend;
		const all = await executions.attempts(id);
		expect(all.map(({ index }) => index)).toEqual(Array.from({ length: 30 }, (_, n) => n));
		expect(all.every(({ failure }) => failure?.detail?.length === 16_384)).toBe(true);
		const first = await executions.attemptPage(id);
		expect(first.attempts).toEqual(all.slice(0, first.attempts.length));
		expect(first.attempts.length).toBeLessThan(30);
		const two = await executions.attemptPage(id, { limit: 2 });
		expect(two.attempts).toEqual(all.slice(0, 2));
		const cursor = two.nextCursor ?? "";
		expect((await executions.attemptPage(id, { limit: 2, cursor })).attempts).toEqual(all.slice(2, 4));
		const other = await scene.create();
		const refused = { code: "invalid_input", details: { field: "cursor" } };
		expect(await refusal(executions.attemptPage(other, { cursor }))).toMatchObject(refused);
		expect(await refusal(executions.attemptPage(unknownId, { cursor }))).toMatchObject({
			code: "execution_not_found",
		});
	});

	test("a failure that was told twice keeps the detail of the first time", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken", detail: "first" });
		await scene.backend.leases.fail(id, { fence, reason: "broken", detail: "second" });
		expect((await scene.get(id)).failure?.detail).toBe("first");
	});

	test("the longest detail is kept, whatever its characters", async (scene) => {
		for (const longest of ["x".repeat(16_384), "\u0001".repeat(16_384), `${"€".repeat(5461)}x`]) {
			const { id, fence } = await scene.start();
			await scene.backend.leases.fail(id, { fence, reason: "broken", detail: longest });
			expect((await scene.get(id)).failure?.detail).toBe(longest);
		}
	});

	test("a longer detail is refused by name, and nothing is ended", async (scene) => {
		const { id, fence } = await scene.start();
		for (const longer of ["x".repeat(16_385), "€".repeat(5462)]) {
			const error = await refusal(scene.backend.leases.fail(id, { fence, reason: "broken", detail: longer }));
			expect(error).toMatchObject({ code: "invalid_input", details: { field: "detail" } });
			expect(error.message).toContain("16384 bytes");
		}
		expect((await scene.get(id)).publicState).toBe("active");
	});

	test("an empty detail is none", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.leases.fail(id, { fence, reason: "broken", detail: "" });
		expect((await scene.get(id)).failure).toEqual({ reason: "broken", category: "error" });
		expect((await scene.records()).filter((key) => key.includes("bytes"))).toEqual([]);
	});

	test("details are removed with their execution", async (scene) => {
		const before = await scene.records();
		const { id, fence } = await scene.start({ policy: { retry, retentionMs: 5000 } });
		await scene.backend.leases.fail(id, { fence, reason: "first", detail });
		await scene.clock.advance(1000);
		const again = await scene.take();
		await scene.backend.leases.fail(id, { fence: again.fence, reason: "second", detail, retryable: false });
		expect((await scene.records()).filter((key) => key.includes(`bytes ${id}/`))).toHaveLength(2);
		await scene.clock.advance(5000);
		expect(await scene.records()).toEqual(before);
	});

	test("a failure of work that was to be cancelled leaves no detail behind", async (scene) => {
		const { id, fence } = await scene.start();
		await scene.backend.executions.cancel(id);
		await scene.backend.leases.fail(id, { fence, reason: "gave up", detail });
		expect((await scene.records()).filter((key) => key.includes("bytes"))).toEqual([]);
	});
}
