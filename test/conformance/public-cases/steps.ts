import { expect } from "vitest";
import type { RecordStepRequest, StepView } from "../../../src/index.ts";
import { foreignFence, type Held, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const everyByte = Uint8Array.from({ length: 256 }, (_, n) => n);

/** Records a step of held work. */
const record = (scene: Scene, held: Held, step: Partial<RecordStepRequest> = {}) =>
	scene.backend.leases.recordStep(held.id, {
		fence: held.fence,
		name: "fetch",
		index: 0,
		startedAt: scene.now,
		...step,
	});

/** All recorded steps with what they returned. */
async function stepsOf(scene: Scene, id: string): Promise<StepView[]> {
	return (await scene.backend.executions.steps(id, { limit: 1000, values: true })).steps;
}

const names = (steps: readonly StepView[]): string[] => steps.map(({ name, index }) => `${name} ${index}`);

export function stepCases(test: PublicCase): void {
	test("a step is recorded with what it returned, and listed", async (scene) => {
		const held = await scene.start();
		const startedAt = scene.now;
		await scene.clock.advance(250);
		const told = await record(scene, held, { result: { pages: 3 }, startedAt });
		const expected = {
			name: "fetch",
			index: 0,
			number: 1,
			attempt: 0,
			recordedAt: startedAt + 250,
			durationMs: 250,
			size: 11,
		};
		expect(told).toEqual(expected);
		expect(await stepsOf(scene, held.id)).toEqual([{ ...expected, result: { pages: 3 } }]);
		expect(await scene.backend.executions.steps(held.id)).toEqual({ steps: [expected] });
	});

	test("work of which nothing is recorded has no steps", async (scene) => {
		const held = await scene.start();
		expect(held.stepCount).toBe(0);
		expect(await scene.backend.executions.steps(held.id)).toEqual({ steps: [] });
	});

	for (const [what, value] of Object.entries({
		"an object": { a: [1, null, "é 🦊"], __proto__: null },
		"a text": "plain",
		"an empty text": "",
		zero: 0,
		false: false,
		null: null,
		"an empty list": [],
		"a large value": { text: "ä".repeat(50_000) },
	})) {
		test(`${what} comes back as it was recorded`, async (scene) => {
			const held = await scene.start();
			await record(scene, held, { result: value });
			expect((await stepsOf(scene, held.id))[0]).toHaveProperty("result", JSON.parse(JSON.stringify(value)));
		});
	}

	for (const [what, bytes] of [
		["every byte", everyByte],
		["no bytes", new Uint8Array()],
		["many bytes", Buffer.alloc(100_000, everyByte)],
	] as const) {
		test(`${what} come back as they were recorded`, async (scene) => {
			const held = await scene.start();
			const resultBase64 = Buffer.from(bytes).toString("base64");
			expect(await record(scene, held, { resultBase64 })).toMatchObject({ size: bytes.length });
			const [step] = await stepsOf(scene, held.id);
			expect(step).not.toHaveProperty("result");
			expect(step?.resultBase64 === resultBase64).toBe(true);
		});
	}

	test("a step that returned nothing is recorded all the same", async (scene) => {
		const held = await scene.start();
		await record(scene, held);
		const [step] = await stepsOf(scene, held.id);
		expect(step).toMatchObject({ name: "fetch", size: 0 });
		expect(step).not.toHaveProperty("result");
		expect(step).not.toHaveProperty("resultBase64");
		expect(step).not.toHaveProperty("error");
	});

	test("steps of one name are told apart by their index, and none by what a name holds", async (scene) => {
		const held = await scene.start();
		const given = [
			{ name: "fetch", index: 1 },
			{ name: "fetch", index: 0 },
			{ name: "0.fetch", index: 0 },
			{ name: "a/b:c,d e", index: 0 },
			{ name: "é 🦊", index: 12 },
			{ name: "x".repeat(256), index: 0 },
		];
		for (const step of given) await record(scene, held, { ...step, result: step });
		const listed = await stepsOf(scene, held.id);
		expect(listed.map(({ result }) => result)).toEqual(given);
		expect(listed.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
	});

	test("steps recorded at the same time are all kept", async (scene) => {
		const held = await scene.start();
		const indexes = Array.from({ length: 50 }, (_, index) => index);
		await Promise.all(indexes.map((index) => record(scene, held, { index, result: index })));
		const listed = await stepsOf(scene, held.id);
		expect(listed.map(({ number }) => number)).toEqual(indexes.map((n) => n + 1));
		expect(listed.map(({ result }) => Number(result)).sort((a, b) => a - b)).toEqual(indexes);
	});

	test("a step recorded twice gives the first answer, and changes nothing", async (scene) => {
		const held = await scene.start();
		const first = await record(scene, held, { result: 1 });
		await scene.clock.advance(100);
		expect(await record(scene, held, { result: 1 })).toEqual(first);
		const steps = await stepsOf(scene, held.id);
		expect(steps).toEqual([{ ...first, result: 1 }]);
	});

	test("a result is final: another one, or a failure, is answered with the first", async (scene) => {
		const held = await scene.start();
		const first = await record(scene, held, { result: "first" });
		expect(await record(scene, held, { result: "second" })).toEqual(first);
		expect(await record(scene, held, { resultBase64: "AAAA" })).toEqual(first);
		expect(await record(scene, held)).toEqual(first);
		expect(await record(scene, held, { error: { reason: "broken" } })).toEqual(first);
		expect((await stepsOf(scene, held.id)).map(({ result }) => result)).toEqual(["first"]);
	});

	test("that a step returned nothing is final too", async (scene) => {
		const held = await scene.start();
		const first = await record(scene, held);
		expect(await record(scene, held, { result: 1 })).toEqual(first);
	});

	test("the same step recorded by two at once has one result", async (scene) => {
		const held = await scene.start();
		const answers = await Promise.all([record(scene, held, { result: 1 }), record(scene, held, { result: 22 })]);
		expect(answers[0]).toEqual(answers[1]);
		const [step] = await stepsOf(scene, held.id);
		expect(step?.size).toBe(answers[0].size);
	});

	test("a step that failed is listed with its error", async (scene) => {
		const held = await scene.start();
		const error = { reason: "no route to host", category: "network" };
		expect(await record(scene, held, { error })).toMatchObject({ error, size: 0 });
		await record(scene, held, { name: "other", error: { reason: "broken" } });
		const listed = await stepsOf(scene, held.id);
		expect(listed.map((step) => step.error)).toEqual([error, { reason: "broken", category: "error" }]);
		expect(listed[0]).not.toHaveProperty("result");
	});

	test("a step that failed may be recorded anew, and keeps its place", async (scene) => {
		const held = await scene.start();
		await record(scene, held, { error: { reason: "once" } });
		await record(scene, held, { name: "other" });
		await scene.clock.advance(10);
		expect(await record(scene, held, { error: { reason: "twice" } })).toMatchObject({ number: 1 });
		expect((await stepsOf(scene, held.id))[0]?.error?.reason).toBe("twice");
		expect(await record(scene, held, { result: "well" })).toMatchObject({ number: 1, recordedAt: scene.now });
		const listed = await stepsOf(scene, held.id);
		expect(names(listed)).toEqual(["fetch 0", "other 0"]);
		expect(listed[0]).toMatchObject({ result: "well" });
		expect(listed[0]).not.toHaveProperty("error");
	});

	test("a failure told twice is recorded once", async (scene) => {
		const held = await scene.start();
		const failure = { error: { reason: "broken" }, startedAt: scene.now };
		const first = await record(scene, held, failure);
		await scene.clock.advance(10);
		expect(await record(scene, held, failure)).toEqual(first);
	});

	for (const [what, interrupt] of Object.entries<(scene: Scene, held: Held) => Promise<unknown>>({
		"a retry": async (scene, { id, fence }) => {
			await scene.backend.leases.fail(id, { fence, reason: "broken", retryAfterMs: 0 });
			await scene.clock.advance(1);
		},
		"a lost lease": (scene) => scene.clock.advance(30_000),
		"a lease that was revoked": (scene, { id }) => scene.backend.executions.revokeLease(id),
		"a release": (scene, { id, fence }) => scene.backend.leases.release(id, { fence }),
		"a delay": async (scene, { id, fence }) => {
			await scene.backend.leases.delay(id, { fence, delayMs: 50 });
			await scene.clock.advance(50);
		},
	})) {
		test(`steps are there again after ${what}, and the claim says how many`, async (scene) => {
			const held = await scene.start({ policy: { retry: { maxRetries: 1 } } });
			await record(scene, held, { result: 1 });
			await record(scene, held, { index: 1, error: { reason: "broken" } });
			await interrupt(scene, held);
			const again = await scene.take();
			expect(again.stepCount).toBe(2);
			expect(names(await stepsOf(scene, held.id))).toEqual(["fetch 0", "fetch 1"]);
			const late = await record(scene, again, { name: "late", result: 2 });
			expect(late).toMatchObject({ number: 3, attempt: again.attempt.index });
			expect(await record(scene, again, { result: "other" })).toMatchObject({ number: 1, attempt: 0 });
		});
	}

	test("whoever lost its lease can record nothing", async (scene) => {
		const held = await scene.start();
		await scene.clock.advance(30_000);
		expect(await refusal(record(scene, held, { result: 1 }))).toMatchObject({ code: "lease_expired", status: 409 });
		const again = await scene.take();
		expect((await refusal(record(scene, held, { result: 1 }))).code).toBe("lease_expired");
		expect(await stepsOf(scene, held.id)).toEqual([]);
		await record(scene, again, { result: 2 });
		expect((await refusal(record(scene, held, { result: 1 }))).code).toBe("lease_expired");
		expect((await stepsOf(scene, held.id)).map(({ result }) => result)).toEqual([2]);
	});

	test("recording needs the fence of the live lease", async (scene) => {
		const held = await scene.start();
		const { id } = held;
		const step = { name: "fetch", index: 0, startedAt: 0 };
		const { leases } = scene.backend;
		expect(await refusal(leases.recordStep(id, step))).toMatchObject({ code: "fence_required", status: 400 });
		expect((await refusal(leases.recordStep(id, { ...step, fence: foreignFence }))).code).toBe("stale_lease");
		expect((await refusal(leases.recordStep(unknownId, { ...step, fence: held.fence }))).code).toBe(
			"execution_not_found",
		);
		await leases.complete(id, { fence: held.fence });
		expect((await refusal(record(scene, held))).code).toBe("execution_not_active");
		expect(await stepsOf(scene, id)).toEqual([]);
	});

	test("steps of an execution that ended are still listed", async (scene) => {
		const held = await scene.start();
		await record(scene, held, { result: 1 });
		await scene.backend.leases.fail(held.id, { fence: held.fence, reason: "broken" });
		expect(names(await stepsOf(scene, held.id))).toEqual(["fetch 0"]);
	});

	test("a replay starts without recorded steps", async (scene) => {
		const held = await scene.start();
		await record(scene, held, { result: "x".repeat(10_000) });
		await record(scene, held, { name: "other" });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.executions.replay(held.id);
		expect(await stepsOf(scene, held.id)).toEqual([]);
		const again = await scene.take();
		expect(again.stepCount).toBe(0);
		expect(await record(scene, again, { result: "anew" })).toMatchObject({ number: 1, attempt: 1 });
		expect((await stepsOf(scene, held.id)).map(({ result }) => result)).toEqual(["anew"]);
	});

	test("a replay with keepSteps goes on with them", async (scene) => {
		const held = await scene.start();
		await record(scene, held, { result: "first" });
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.ff.replay(held.id, { keepSteps: true });
		const again = await scene.take();
		expect(again.stepCount).toBe(1);
		expect(await record(scene, again, { result: "other" })).toMatchObject({ number: 1, attempt: 0 });
		await record(scene, again, { name: "other" });
		await scene.backend.leases.complete(held.id, { fence: again.fence });
		expect(names(await stepsOf(scene, held.id))).toEqual(["fetch 0", "other 0"]);
	});

	test("steps are read in pages", async (scene) => {
		const held = await scene.start();
		for (let index = 0; index < 5; index++) await record(scene, held, { index, result: index });
		const { executions } = scene.backend;
		const first = await executions.steps(held.id, { limit: 2 });
		expect(names(first.steps)).toEqual(["fetch 0", "fetch 1"]);
		// What comes meanwhile is on a later page.
		await record(scene, held, { name: "late" });
		const second = await executions.steps(held.id, { limit: 3, cursor: first.nextCursor ?? "" });
		expect(names(second.steps)).toEqual(["fetch 2", "fetch 3", "fetch 4"]);
		const third = await executions.steps(held.id, { limit: 3, cursor: second.nextCursor ?? "" });
		expect(names(third.steps)).toEqual(["late 0"]);
		expect(third).not.toHaveProperty("nextCursor");
		expect((await refusal(executions.steps(held.id, { cursor: "none of ours" }))).code).toBe("invalid_input");
	});

	test("a page of large values ends early, and none is left out", async (scene) => {
		const held = await scene.start();
		const resultBase64 = Buffer.alloc(MIB - KIB).toString("base64");
		for (let index = 0; index < 6; index++) await record(scene, held, { index, resultBase64 });
		const { executions } = scene.backend;
		const sizes: number[] = [];
		let cursor: { cursor?: string } | undefined = {};
		while (cursor) {
			const page = await executions.steps(held.id, { limit: 1000, values: true, ...cursor });
			sizes.push(page.steps.length);
			for (const step of page.steps) expect(step.resultBase64?.length).toBe(resultBase64.length);
			cursor = page.nextCursor === undefined ? undefined : { cursor: page.nextCursor };
		}
		expect(sizes).toEqual([5, 1]);
		expect((await executions.steps(held.id)).steps).toHaveLength(6);
	});

	test("a step may return 1 MiB, and no byte more", async (scene) => {
		const held = await scene.start();
		const text = "x".repeat(MIB - 2);
		expect(await refusal(record(scene, held, { result: `${text}x` }))).toMatchObject({
			code: "payload_too_large",
			status: 413,
			details: { field: "result", limit: MIB },
		});
		const tooLong = Buffer.alloc(MIB + 1).toString("base64");
		expect((await refusal(record(scene, held, { resultBase64: tooLong }))).code).toBe("payload_too_large");
		expect(await stepsOf(scene, held.id)).toEqual([]);
		expect(await record(scene, held, { result: text })).toMatchObject({ size: MIB });
		expect((await stepsOf(scene, held.id))[0]?.result === text).toBe(true);
	});

	test("recording a step is no event", async (scene) => {
		const held = await scene.start();
		const before = await scene.eventTypes(held.id);
		await record(scene, held, { result: 1 });
		expect(await scene.eventTypes(held.id)).toEqual(before);
	});

	test("steps go with their execution, however many there are", async (scene) => {
		const held = await scene.start();
		const indexes = Array.from({ length: 230 }, (_, index) => index);
		await Promise.all(indexes.map((index) => record(scene, held, { index, result: "x".repeat(5000) })));
		await scene.backend.leases.complete(held.id, { fence: held.fence });
		await scene.backend.executions.replay(held.id);
		const again = await scene.take();
		await record(scene, again, { result: 1 });
		await scene.backend.leases.complete(held.id, { fence: again.fence });
		await scene.backend.executions.delete(held.id);
		await scene.clock.advance(1000);
		expect((await refusal(scene.backend.executions.steps(held.id))).code).toBe("execution_not_found");
		const lines: string[] = [];
		for await (const line of scene.backend.admin.backup()) lines.push(line);
		expect(lines.filter((line) => line.includes(`"${held.id}/`))).toEqual([]);
	});

	test("steps of another's work do not exist", async (scene) => {
		const ada = scene.as({ actor: "ada", namespace: "a" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		const { id } = await ada.executions.create({ kind: "job" });
		const [claimed] = await ada.leases.claim({ workerId: "w", instanceId: "w-1" });
		const fence = { leaseId: claimed?.lease.id ?? "", epoch: claimed?.lease.epoch ?? 0 };
		const step = { fence, name: "fetch", index: 0, startedAt: 0 };
		expect((await refusal(bob.leases.recordStep(id, step))).code).toBe("execution_not_found");
		await ada.leases.recordStep(id, step);
		expect((await refusal(bob.executions.steps(id))).code).toBe("execution_not_found");
		expect((await ada.executions.steps(id)).steps).toHaveLength(1);
	});

	for (const [what, step, field] of [
		["no name", { name: "" }, "name"],
		["a long name", { name: "x".repeat(257) }, "name"],
		["a name with a control character", { name: "a\nb" }, "name"],
		["half a character in a name", { name: "a\ud800" }, "name"],
		["an index below 0", { index: -1 }, "index"],
		["an index that is no integer", { index: 0.5 }, "index"],
		["a start that is no time", { startedAt: -1 }, "startedAt"],
		["a result that is given twice", { result: 1, resultBase64: "AAAA" }, "resultBase64"],
		["a result and an error", { result: 1, error: { reason: "x" } }, "error"],
		["an error without a reason", { error: {} }, "error.reason"],
		["an error with a field nobody knows", { error: { reason: "x", stack: "y" } }, "error.stack"],
		["bytes that are no base64", { resultBase64: "A" }, "resultBase64"],
		["a field nobody knows", { value: 1 }, "value"],
	] as const) {
		test(`${what} is refused by name`, async (scene) => {
			const held = await scene.start();
			const error = await refusal(record(scene, held, step as never));
			expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field } });
			expect(await stepsOf(scene, held.id)).toEqual([]);
		});
	}
}
