import { expect } from "vitest";
import { type PublicCase, refusal, unknownId } from "../scene.ts";

const DAY_MS = 86_400_000;
const team = { id: "team", dimensions: { tokens: { hard: 100, soft: 80 } } };

/** Budgets as objects; what they let run is told elsewhere. */
export function budgetCases(test: PublicCase): void {
	test("a budget is made with what is said of it, and read", async (scene) => {
		const labels = { owner: "ada", "cost.centre": "7" };
		const made = await scene.ff.budgets.create({ ...team, onHard: "fail", resetEvery: 60_000, labels });
		const budget = {
			id: "team",
			namespace: "default",
			dimensions: { tokens: { used: 0, reserved: 0, hard: 100, soft: 80, exhausted: false } },
			resetEvery: 60_000,
			onHard: "fail",
			labels,
			waiting: 0,
			breachCount: 0,
			softBreachCount: 0,
			nextResetAt: scene.now + 60_000,
			createdAt: scene.now,
		};
		expect(made).toEqual({ ...budget, created: true });
		expect(await scene.ff.budgets.get("team")).toEqual(budget);
	});

	test("a budget blocks, never resets and has no labels unless that is said", async (scene) => {
		await scene.ff.budgets.create({ id: "plain", dimensions: {} });
		expect(await scene.ff.budgets.get("plain")).toEqual({
			id: "plain",
			namespace: "default",
			dimensions: {},
			onHard: "block",
			labels: {},
			waiting: 0,
			breachCount: 0,
			softBreachCount: 0,
			createdAt: scene.now,
		});
	});

	test("one that exists is made again by the same definition, and not by another", async (scene) => {
		await scene.ff.budgets.create({ ...team, onHard: "cancel" });
		const again = await scene.ff.budgets.create({
			onHard: "cancel",
			dimensions: { tokens: { soft: 80, hard: 100 } },
			id: "team",
		});
		expect(again.created).toBe(false);
		for (const other of [
			team,
			{ ...team, onHard: "fail" as const },
			{ ...team, onHard: "cancel" as const, dimensions: { tokens: { hard: 100 } } },
			{ ...team, onHard: "cancel" as const, resetEvery: "daily" as const },
			{ ...team, onHard: "cancel" as const, labels: { a: "b" } },
		]) {
			expect((await refusal(scene.ff.budgets.create(other))).code).toBe("already_exists");
		}
		expect((await refusal(scene.ff.budgets.create(team))).status).toBe(409);
	});

	test("names may be long and hold dots, colons, dashes and underscores", async (scene) => {
		for (const id of ["a", "A.b:c-d_e", "x".repeat(128), "__proto__", "constructor"]) {
			expect(await scene.ff.budgets.create({ ...team, id })).toMatchObject({ id, created: true });
			expect(await scene.ff.budgets.get(id)).toMatchObject({ id });
		}
	});

	test("a budget and a quota of one name have nothing to do with each other", async (scene) => {
		await scene.ff.budgets.create(team);
		expect((await refusal(scene.ff.quotas.get("team"))).code).toBe("quota_not_found");
		await scene.ff.quotas.create({ id: "team", concurrency: 1 });
		await scene.ff.budgets.delete("team");
		expect(await scene.ff.quotas.get("team")).toMatchObject({ id: "team" });
	});

	test("budgets are listed in the order they were made, page by page", async (scene) => {
		const names = Array.from({ length: 25 }, (_, n) => `budget-${(n * 7) % 25}`);
		for (const id of names) {
			await scene.ff.budgets.create({ ...team, id });
			await scene.clock.advance(1);
		}
		const found: string[] = [];
		for (let cursor: string | undefined, pages = 0; pages < 10; pages++) {
			const page = await scene.ff.budgets.list({ limit: 10, ...(cursor === undefined ? {} : { cursor }) });
			found.push(...page.budgets.map(({ id }) => id));
			cursor = page.nextCursor;
			if (cursor === undefined) break;
		}
		expect(found).toEqual(names);
		expect(await scene.ff.budgets.list({ namespace: "other" })).toEqual({ budgets: [] });
	});

	test("a listed budget shows what a read of it shows", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { tokens: 90, calls: 1 } });
		const { budgets } = await scene.ff.budgets.list();
		expect(budgets).toEqual([await scene.ff.budgets.get("team")]);
	});

	test("namespaces have budgets of their own", async (scene) => {
		await scene.ff.budgets.create({ ...team, namespace: "a" });
		await scene.ff.budgets.create({ ...team, namespace: "b", onHard: "fail" });
		await scene.ff.budgets.usage("team", { dims: { tokens: 7 } }, { namespace: "a" });
		expect((await scene.ff.budgets.get("team", { namespace: "a" })).dimensions.tokens?.used).toBe(7);
		expect((await scene.ff.budgets.get("team", { namespace: "b" })).dimensions.tokens?.used).toBe(0);
		expect((await refusal(scene.ff.budgets.get("team"))).code).toBe("budget_not_found");
		const ada = scene.as({ actor: "ada", namespace: "a" });
		expect(await ada.budgets.list()).toMatchObject({ budgets: [{ namespace: "a" }] });
		expect((await refusal(ada.budgets.get("team", { namespace: "b" }))).code).toBe("forbidden");
		expect((await refusal(ada.budgets.create({ ...team, namespace: "b" }))).code).toBe("forbidden");
		expect(await ada.budgets.create({ ...team, id: "hers" })).toMatchObject({ namespace: "a" });
	});

	test("a patch changes what is given and leaves the rest", async (scene) => {
		await scene.ff.budgets.create({ ...team, labels: { owner: "ada" } });
		await scene.ff.budgets.usage("team", { dims: { tokens: 50 } });
		const patched = await scene.ff.budgets.patch("team", { dimensions: { tokens: { hard: 60 }, calls: { hard: 5 } } });
		expect(patched).toMatchObject({
			dimensions: { tokens: { used: 50, hard: 60, soft: 80 }, calls: { used: 0, hard: 5 } },
			labels: { owner: "ada" },
			onHard: "block",
		});
		expect(await scene.ff.budgets.get("team")).toEqual(patched);
		expect(await scene.ff.budgets.patch("team", { onHard: "cancel", labels: { a: "b" } })).toMatchObject({
			onHard: "cancel",
			labels: { a: "b" },
		});
		expect(await scene.ff.budgets.patch("team", {})).toMatchObject({ onHard: "cancel" });
	});

	test("a patch of null takes a limit away, or a whole dimension, whose usage is still counted", async (scene) => {
		await scene.ff.budgets.create({ ...team, dimensions: { tokens: { hard: 10, soft: 5 }, calls: { hard: 1 } } });
		await scene.ff.budgets.usage("team", { dims: { tokens: 4, calls: 1 } });
		const { dimensions } = await scene.ff.budgets.patch("team", {
			dimensions: { tokens: { hard: null }, calls: null },
		});
		expect(dimensions).toEqual({
			tokens: { used: 4, reserved: 0, soft: 5, exhausted: false },
			calls: { used: 1, reserved: 0, exhausted: false },
		});
		expect(await scene.ff.budgets.usage("team", { dims: { calls: 1000 } })).toMatchObject({ outcome: "ok" });
	});

	test("a patch of a dimension clears what a refused report had marked, and only there", async (scene) => {
		await scene.ff.budgets.create({ ...team, dimensions: { a: { hard: 1 }, b: { hard: 1 } } });
		await scene.ff.budgets.usage("team", { dims: { a: 2 } });
		await scene.ff.budgets.usage("team", { dims: { b: 2 } });
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { a: { exhausted: true }, b: { exhausted: true } },
		});
		await scene.ff.budgets.patch("team", { dimensions: { a: { hard: 2 } } });
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { a: { exhausted: false }, b: { exhausted: true } },
		});
	});

	test("a budget that is deleted is not there any more, and may be made anew", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { tokens: 50 }, dedupKey: "k" });
		expect(await scene.ff.budgets.delete("team")).toEqual({ deleted: true });
		expect((await refusal(scene.ff.budgets.get("team"))).code).toBe("budget_not_found");
		expect(await scene.ff.budgets.list()).toEqual({ budgets: [] });
		const calls = [
			() => scene.ff.budgets.delete("team"),
			() => scene.ff.budgets.patch("team", {}),
			() => scene.ff.budgets.usage("team", { dims: {} }),
			() => scene.ff.budgets.reset("team"),
			() => scene.ff.budgets.release("team", { executionId: unknownId }),
			() => scene.ff.budgets.ledger("team"),
		];
		for (const call of calls) expect(await refusal(call())).toMatchObject({ code: "budget_not_found", status: 404 });
		expect(await scene.ff.budgets.create({ ...team, onHard: "fail" })).toMatchObject({ created: true });
		expect(await scene.ff.budgets.get("team")).toMatchObject({ dimensions: { tokens: { used: 0 } }, breachCount: 0 });
		expect(await scene.ff.budgets.ledger("team")).toEqual({ entries: [] });
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 1 }, dedupKey: "k" })).toMatchObject({
			duplicate: false,
		});
	});

	test("a reset zeroes usage, clears what is exhausted and keeps the counts of breaches", async (scene) => {
		await scene.ff.budgets.create({ ...team, resetEvery: 10_000 });
		await scene.ff.budgets.usage("team", { dims: { tokens: 90 } });
		await scene.ff.budgets.usage("team", { dims: { tokens: 90 } });
		const at = scene.now;
		await scene.clock.advance(1000);
		expect(await scene.ff.budgets.reset("team")).toEqual({ nextResetAt: at + 10_000 });
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { tokens: { used: 0, exhausted: false } },
			breachCount: 1,
			softBreachCount: 1,
			lastBreachAt: at,
			lastBreachDimension: "tokens",
		});
		await scene.ff.budgets.create({ ...team, id: "never" });
		expect(await scene.ff.budgets.reset("never")).toEqual({});
	});

	test("a reset that is said again under its id is done once", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.reset("team", { requestId: "r" });
		await scene.ff.budgets.usage("team", { dims: { tokens: 5 } });
		await scene.ff.budgets.reset("team", { requestId: "r" });
		expect((await scene.ff.budgets.get("team")).dimensions.tokens?.used).toBe(5);
	});

	test("a budget resets by itself every so many milliseconds", async (scene) => {
		await scene.ff.budgets.create({ ...team, resetEvery: 10_000 });
		const at = scene.now;
		await scene.ff.budgets.usage("team", { dims: { tokens: 90 } });
		await scene.ff.budgets.usage("team", { dims: { tokens: 90 } });
		await scene.clock.advance(9999);
		expect(await scene.ff.budgets.get("team")).toMatchObject({ dimensions: { tokens: { used: 90, exhausted: true } } });
		await scene.clock.advance(1);
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { tokens: { used: 0, exhausted: false } },
			nextResetAt: at + 20_000,
		});
		expect(await scene.ff.budgets.ledger("team")).toEqual({ entries: [] });
	});

	test(
		"a period that is over is over for readers and reports, though nobody was there to end it",
		async (scene) => {
			await scene.ff.budgets.create({ ...team, resetEvery: 10_000 });
			const at = scene.now;
			const executionId = await scene.create();
			await scene.ff.budgets.usage("team", { dims: { tokens: 100 }, executionId });
			await scene.ff.budgets.usage("team", { dims: { tokens: 1 } });
			await scene.clock.advance(25_000);
			const reset = { dimensions: { tokens: { used: 0, exhausted: false } }, nextResetAt: at + 30_000 };
			expect(await scene.ff.budgets.get("team")).toMatchObject(reset);
			expect((await scene.ff.budgets.list()).budgets).toMatchObject([reset]);
			expect(await scene.ff.budgets.ledger("team")).toEqual({ entries: [] });
			expect(await scene.ff.budgets.release("team", { executionId })).toEqual({ released: {} });
			expect(await scene.ff.budgets.usage("team", { dims: { tokens: 100 } })).toMatchObject({ outcome: "soft_breach" });
		},
		{ scanners: { namespaces: ["elsewhere"] } },
	);

	test("a budget resets at midnight, or on the first of the month, UTC", async (scene) => {
		const midnight = (Math.floor(scene.now / DAY_MS) + 1) * DAY_MS;
		const today = new Date(scene.now);
		const first = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
		expect(await scene.ff.budgets.create({ ...team, resetEvery: "daily" })).toMatchObject({ nextResetAt: midnight });
		expect(await scene.ff.budgets.create({ ...team, id: "m", resetEvery: "monthly" })).toMatchObject({
			nextResetAt: first,
		});
		await scene.ff.budgets.usage("team", { dims: { tokens: 1 } });
		await scene.clock.advance(midnight - scene.now);
		expect((await scene.ff.budgets.get("team")).dimensions.tokens?.used).toBe(0);
		expect((await scene.ff.budgets.get("team")).nextResetAt).toBe(midnight + DAY_MS);
	});

	test("a patch of resetEvery counts from then on, and null ends it", async (scene) => {
		await scene.ff.budgets.create({ ...team, resetEvery: 10_000 });
		await scene.clock.advance(4000);
		expect(await scene.ff.budgets.patch("team", { resetEvery: 20_000 })).toMatchObject({
			nextResetAt: scene.now + 20_000,
		});
		const never = await scene.ff.budgets.patch("team", { resetEvery: null });
		expect(never).not.toHaveProperty("nextResetAt");
		expect(never).not.toHaveProperty("resetEvery");
	});

	test("an execution names budgets and quotas that exist, and shows them sorted, each once", async (scene) => {
		for (const id of ["b", "a"]) await scene.ff.budgets.create({ ...team, id });
		await scene.ff.quotas.create({ id: "q", concurrency: 1 });
		const id = await scene.create({ budgets: ["b", "a", "b"], quotas: ["q"], reserve: { a: { tokens: 5 } } });
		expect(await scene.get(id)).toMatchObject({ budgets: ["a", "b"], quotas: ["q"], publicState: "waiting" });
		expect(await scene.get(await scene.create())).toMatchObject({ budgets: [], quotas: [] });
	});

	test("work that names a budget or quota nobody made is refused, and nothing is kept of it", async (scene) => {
		await scene.ff.budgets.create(team);
		expect(await refusal(scene.create({ budgets: ["team", "nobody"] }))).toMatchObject({
			code: "budget_not_found",
			status: 404,
			details: { budget: "nobody" },
		});
		expect(await refusal(scene.create({ quotas: ["none"], idempotencyKey: "k" }))).toMatchObject({
			code: "quota_not_found",
			details: { quota: "none" },
		});
		expect((await refusal(scene.create({ budgets: ["team"], namespace: "other" }))).code).toBe("budget_not_found");
		expect(await scene.listed()).toEqual([]);
		await scene.create({ budgets: ["team"] });
		await scene.ff.budgets.delete("team");
		expect((await refusal(scene.create({ budgets: ["team"] }))).code).toBe("budget_not_found");
		await scene.ff.budgets.create(team);
		await scene.create({ budgets: ["team"] });
	});

	test("of many submitted together, those that name something unknown are refused and the others taken", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.quotas.create({ id: "q", concurrency: 1 });
		const items = await scene.backend.executions.createMany(
			Array.from({ length: 200 }, (_, n) => ({
				kind: "job",
				...(n % 3 === 0 ? { budgets: ["team"] } : n % 3 === 1 ? { budgets: ["nobody"] } : { quotas: ["q"] }),
			})),
		);
		items.forEach((item, n) => {
			if (n % 3 === 1) expect(item).toMatchObject({ ok: false, error: { code: "budget_not_found" } });
			else expect(item).toMatchObject({ ok: true, created: true });
		});
		expect(await scene.listed()).toHaveLength(items.filter(({ ok }) => ok).length);
	});

	test("budgets, quotas and reservations are part of what an idempotency key stands for", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.create({ ...team, id: "b" });
		await scene.ff.quotas.create({ id: "q", concurrency: 1 });
		const request = {
			kind: "job",
			idempotencyKey: "k",
			budgets: ["team", "b"],
			reserve: { b: { tokens: 1, calls: 0 } },
		};
		const first = await scene.backend.executions.create(request);
		const same = [
			{ ...request, budgets: ["b", "team", "b"] },
			{ ...request, quotas: [], reserve: { b: { tokens: 1 }, team: {} } },
		];
		for (const each of same) {
			expect(await scene.backend.executions.create(each)).toMatchObject({ id: first.id, created: false });
		}
		for (const other of [{ budgets: ["b"] }, { quotas: ["q"] }, { reserve: { b: { tokens: 2 } } }]) {
			expect((await refusal(scene.backend.executions.create({ ...request, ...other }))).code).toBe(
				"idempotency_conflict",
			);
		}
	});
}
