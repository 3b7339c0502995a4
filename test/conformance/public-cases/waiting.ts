import { expect } from "vitest";
import { type Execution, ExecutionFailed } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

/** Waiting for an end, and for a result. */
export function waitingCases(test: PublicCase): void {
	test("waiting for work that has ended answers at once", async (scene) => {
		const { id } = await scene.finished();
		expect(await scene.ff.wait(id)).toEqual(await scene.get(id));
	});

	test("waiting answers when the work ends", async (scene) => {
		const { id, fence } = await scene.start();
		let answer: Execution | undefined;
		const waiting = scene.ff.wait(id).then((execution) => (answer = execution));
		await scene.clock.settle();
		await scene.backend.leases.progress(id, { fence, percent: 50 });
		await scene.clock.settle();
		expect(answer).toBeUndefined();
		await scene.backend.leases.complete(id, { fence });
		expect(await waiting).toMatchObject({ id, publicState: "completed" });
	});

	test("waiting answers when time ends the work", async (scene) => {
		const id = await scene.create({ policy: { timeouts: { queueMs: 1000 } } });
		const waiting = scene.ff.wait(id);
		await scene.clock.advance(1000);
		expect((await waiting).publicState).toBe("expired");
	});

	test("waiting with a timeout gives the work as it is when the time is over", async (scene) => {
		const { id } = await scene.start();
		let answer: Execution | undefined;
		const waiting = scene.ff.wait(id, { timeoutMs: 1000 }).then((execution) => (answer = execution));
		await scene.clock.advance(999);
		expect(answer).toBeUndefined();
		await scene.clock.advance(1);
		await waiting;
		expect(answer).toMatchObject({ id, publicState: "active" });
	});

	test("waiting with a timeout of 0 is a read", async (scene) => {
		const id = await scene.create();
		expect(await scene.ff.wait(id, { timeoutMs: 0 })).toEqual(await scene.get(id));
	});

	test("a wait that is called off throws the reason it was called off with", async (scene) => {
		const id = await scene.create();
		const controller = new AbortController();
		const reason = new Error("no patience");
		const waiting = scene.ff.wait(id, { signal: controller.signal }).catch((error: unknown) => error);
		await scene.clock.settle();
		controller.abort(reason);
		expect(await waiting).toBe(reason);
		const later = scene.ff.wait(id, { signal: controller.signal }).catch((error: unknown) => error);
		expect(await later).toBe(reason);
	});

	test("many waits for one execution are all answered", async (scene) => {
		const { id, fence } = await scene.start();
		const waits = Array.from({ length: 20 }, () => scene.ff.wait(id));
		await scene.clock.settle();
		await scene.backend.leases.complete(id, { fence });
		const answers = await Promise.all(waits);
		expect(answers.every(({ publicState }) => publicState === "completed")).toBe(true);
	});

	test("waiting goes on over a retry", async (scene) => {
		const retry = { maxRetries: 1, backoff: { type: "fixed" as const, delayMs: 100 } };
		const { id, fence } = await scene.start({ policy: { retry } });
		const waiting = scene.ff.wait(id);
		await scene.clock.settle();
		await scene.backend.leases.fail(id, { fence, reason: "broken" });
		await scene.clock.advance(100);
		const again = await scene.take();
		await scene.backend.leases.complete(id, { fence: again.fence });
		expect(await waiting).toMatchObject({ publicState: "completed", retries: 1 });
	});

	test("waiting for work that is deleted meanwhile ends", async (scene) => {
		const { id } = await scene.finished({ policy: { retentionMs: 1000 } });
		await scene.backend.executions.replay(id);
		const waiting = refusal(scene.ff.wait(id));
		await scene.clock.settle();
		await Promise.all([scene.backend.executions.cancel(id), scene.backend.executions.delete(id)]);
		expect((await waiting).code).toBe("execution_not_found");
	});

	test("a result is given when it is there", async (scene) => {
		const run = await scene.ff.submit("job");
		const result = run.result();
		const { id, fence } = await scene.take();
		await scene.backend.leases.complete(id, { fence, result: { answer: 42 } });
		expect(await result).toEqual({ answer: 42 });
		expect(await scene.ff.result(id)).toEqual({ answer: 42 });
	});

	test("asking for the result of failed work throws with the execution and why", async (scene) => {
		const run = await scene.ff.submit("job");
		const { id, fence } = await scene.take();
		await scene.backend.leases.fail(id, { fence, reason: "disk full", category: "io" });
		const error = await run.result().catch((thrown: unknown) => thrown);
		if (!(error instanceof ExecutionFailed)) throw error;
		expect(error.publicState).toBe("failed");
		expect(error.execution).toEqual(await scene.get(id));
		expect(error.message).toContain(id);
		expect(error.message).toContain("disk full");
	});

	test("asking for the result of cancelled or expired work throws with the execution", async (scene) => {
		const cancelled = await scene.create();
		await scene.backend.executions.cancel(cancelled, { reason: "not needed" });
		const expired = await scene.create({ policy: { timeouts: { queueMs: 10 } } });
		await scene.clock.advance(10);
		for (const [id, publicState] of [
			[cancelled, "cancelled"],
			[expired, "expired"],
		] as const) {
			const error = await scene.ff.result(id).catch((thrown: unknown) => thrown);
			if (!(error instanceof ExecutionFailed)) throw error;
			expect(error.publicState).toBe(publicState);
		}
	});

	test("asking for a result with a timeout is refused as wait_timeout when the time is over", async (scene) => {
		const run = await scene.ff.submit("job");
		const result = refusal(run.result({ timeoutMs: 1000 }));
		await scene.clock.advance(1000);
		expect(await result).toMatchObject({ code: "wait_timeout", status: 504, retryable: true });
	});

	test("a run can be waited for and cancelled", async (scene) => {
		const run = await scene.ff.submit("job");
		expect(await run.wait({ timeoutMs: 0 })).toMatchObject({ publicState: "waiting" });
		await run.cancel({ reason: "changed my mind" });
		expect(await run.wait()).toMatchObject({ publicState: "cancelled", cancel: { reason: "changed my mind" } });
	});
}
