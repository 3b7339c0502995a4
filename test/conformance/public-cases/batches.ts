import { expect } from "vitest";
import type { CreateRequest } from "../../../src/index.ts";
import { type PublicCase, refusal } from "../scene.ts";

export function batchCases(test: PublicCase): void {
	test("createMany answers item by item, in the order given", async (scene) => {
		const items = Array.from({ length: 50 }, (_, n) => ({ kind: `kind-${n}` }));
		const created = await scene.backend.executions.createMany(items);
		expect(created.every((item) => item.ok && item.created)).toBe(true);
		for (const [n, { id = "" }] of created.entries()) expect((await scene.get(id)).kind).toBe(`kind-${n}`);
	});

	test("createMany takes 1000 items at once", async (scene) => {
		const created = await scene.backend.executions.createMany(
			Array.from({ length: 1000 }, (_, n) => ({ kind: "job", input: n })),
		);
		expect(created.filter(({ ok }) => ok)).toHaveLength(1000);
		expect(new Set(created.map(({ id }) => id)).size).toBe(1000);
		expect(await scene.listed()).toHaveLength(1000);
	});

	test("a list given to createMany may be used again at once", async (scene) => {
		const items = Array.from({ length: 300 }, (_, n) => ({ kind: `kind-${n}` }));
		const answered = scene.backend.executions.createMany(items);
		items.length = 0;
		const created = await answered;
		expect(created.filter(({ ok }) => ok)).toHaveLength(300);
		expect((await scene.get(created[299]?.id ?? "")).kind).toBe("kind-299");
	});

	test("createMany of 1001 items is refused and makes none", async (scene) => {
		const items = Array.from({ length: 1001 }, () => ({ kind: "job" }));
		const error = await refusal(scene.backend.executions.createMany(items));
		expect(error).toMatchObject({ code: "invalid_input", status: 400, details: { field: "items" } });
		expect(await scene.listed()).toEqual([]);
	});

	test("createMany of nothing answers nothing", async (scene) => {
		expect(await scene.backend.executions.createMany([])).toEqual([]);
	});

	test("bad items of a batch are refused alone, each with its own field", async (scene) => {
		const items: unknown[] = [
			{ kind: "job" },
			{ kind: "job", priority: "high" },
			{},
			{ kind: "job", surprise: 1 },
			null,
			{ kind: "job", input: "x".repeat(1024 * 1024) },
			{ kind: "job", idempotencyKey: "taken", input: 2 },
			{ kind: "job" },
		];
		await scene.create({ idempotencyKey: "taken", input: 1 });
		const created = await scene.backend.executions.createMany(items as CreateRequest[]);
		expect(created.map(({ ok }) => ok)).toEqual([true, false, false, false, false, false, false, true]);
		expect(created.map(({ error }) => error?.code)).toEqual([
			undefined,
			"invalid_input",
			"invalid_input",
			"invalid_input",
			"invalid_input",
			"payload_too_large",
			"idempotency_conflict",
			undefined,
		]);
		expect(created.slice(1, 4).map(({ error }) => error?.details?.field)).toEqual(["priority", "kind", "surprise"]);
		expect(await scene.listed()).toHaveLength(3);
	});

	test("a refused item tells code, message, retryable and details, and no id", async (scene) => {
		const [item] = await scene.backend.executions.createMany([{ kind: "" }]);
		expect(item).toEqual({
			ok: false,
			error: {
				code: "invalid_input",
				message: expect.stringContaining("kind"),
				retryable: false,
				details: { field: "kind" },
			},
		});
	});

	test("an item of the largest size allowed spoils no other", async (scene) => {
		// Control characters take six times their room in JSON.
		const categories = Array.from({ length: 32 }, () => '"'.repeat(64));
		const large = {
			kind: "job",
			input: "\u0001".repeat(4096),
			contentType: "text/plain",
			policy: { retry: { retryableCategories: categories, nonRetryableCategories: categories } },
		};
		const created = await scene.backend.executions.createMany([{ kind: "job" }, large, { kind: "job" }]);
		expect(created.map(({ ok }) => ok)).toEqual([true, true, true]);
	});

	test("submitMany refuses an item whose input is no data, alone", async (scene) => {
		const answers = await scene.ff.submitMany([{ kind: "job" }, { kind: "job", input: () => 1 }, { kind: "job" }]);
		expect(answers.map(({ ok }) => ok)).toEqual([true, false, true]);
	});

	test("one key twice in a batch makes one execution", async (scene) => {
		const item = { kind: "job", idempotencyKey: "k" };
		const [first, second] = await scene.backend.executions.createMany([item, item]);
		expect(first).toMatchObject({ ok: true, created: true });
		expect(second).toEqual({ ok: true, id: first?.id, publicState: "waiting", created: false });
	});

	test("submitMany gives a run or an error for each item", async (scene) => {
		const answers = await scene.ff.submitMany([{ kind: "job", input: { n: 1 } }, { kind: "" }]);
		expect(answers.map(({ ok }) => ok)).toEqual([true, false]);
		const [first, second] = answers;
		if (!first?.ok || second?.ok !== false) throw new Error("the answers do not fit their items");
		expect(first.run.created).toBe(true);
		expect(await scene.take()).toMatchObject({ id: first.run.id, input: { n: 1 } });
		expect(second.error.details).toEqual({ field: "kind" });
	});

	test("completeMany answers per item and one bad fence spoils nothing", async (scene) => {
		const held = [await scene.start(), await scene.start(), await scene.start()];
		const [a, b, c] = held.map(({ id, fence }) => ({ executionId: id, fence }));
		if (!a || !b || !c) throw new Error("three were started");
		const answers = await scene.backend.leases.completeMany([
			{ ...a, result: { n: 1 } },
			{ ...b, fence: { ...b.fence, epoch: 9 } },
			{ ...c, resultBase64: "AAE=" },
		]);
		expect(answers).toMatchObject([
			{ executionId: a.executionId, ok: true, publicState: "completed" },
			{ executionId: b.executionId, ok: false, error: { code: "stale_lease", retryable: false } },
			{ executionId: c.executionId, ok: true, publicState: "completed" },
		]);
		expect((await scene.get(b.executionId)).publicState).toBe("active");
		expect(await scene.ff.result(a.executionId)).toEqual({ n: 1 });
	});

	test("completeMany answers items with bad ids, results or no sense at all one by one", async (scene) => {
		const { id, fence } = await scene.start();
		const items: unknown[] = [
			{ executionId: "nonsense", fence },
			{ executionId: id, fence, resultBase64: "*" },
			null,
			{ executionId: id, fence, result: "good" },
		];
		const answers = await scene.backend.leases.completeMany(
			items as Parameters<typeof scene.backend.leases.completeMany>[0],
		);
		expect(answers.map(({ ok }) => ok)).toEqual([false, false, false, true]);
		expect(answers.slice(0, 3).map(({ error }) => error?.code)).toEqual(Array(3).fill("invalid_input"));
		expect(await scene.ff.result(id)).toBe("good");
	});
}
