import { expect } from "vitest";
import { foreignFence, type PublicCase, refusal, type Scene, unknownId } from "../scene.ts";

const HOUR_MS = 3_600_000;
const team = { id: "team", dimensions: { tokens: { hard: 100, soft: 80 }, calls: { hard: 10 } } };

const usedOf = async (scene: Scene, id = "team"): Promise<Record<string, number>> => {
	const { dimensions } = await scene.ff.budgets.get(id);
	return Object.fromEntries(Object.entries(dimensions).map(([name, { used }]) => [name, used]));
};

/** What was spent, who spent it, and what of it is taken back. */
export function usageCases(test: PublicCase): void {
	test("a report is added as a whole", async (scene) => {
		await scene.ff.budgets.create(team);
		const reply = await scene.ff.budgets.usage("team", { dims: { tokens: 30, calls: 1 } });
		expect(reply).toEqual({ outcome: "ok", duplicate: false });
		await scene.ff.budgets.usage("team", { dims: { tokens: 20 } });
		expect(await usedOf(scene)).toEqual({ tokens: 50, calls: 1 });
	});

	test("all hard limits are checked before anything is added", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { tokens: 10 } });
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 1, calls: 11 } })).toEqual({
			outcome: "hard_breach",
			dimension: "calls",
			current: 0,
			limit: 10,
			duplicate: false,
		});
		expect(await usedOf(scene)).toEqual({ tokens: 10, calls: 0 });
	});

	test("to come to a limit is no breach, to go over it is", async (scene) => {
		await scene.ff.budgets.create(team);
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 80 } })).toMatchObject({ outcome: "ok" });
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 20 } })).toMatchObject({ outcome: "soft_breach" });
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 1 } })).toMatchObject({
			outcome: "hard_breach",
			current: 100,
			limit: 100,
		});
	});

	test("a report that is refused marks its dimension exhausted and is counted, with when and where", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { tokens: 101 } });
		const at = scene.now;
		await scene.clock.advance(5);
		await scene.ff.budgets.usage("team", { dims: { tokens: 101 } });
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { tokens: { used: 0, exhausted: true }, calls: { exhausted: false } },
			breachCount: 2,
			softBreachCount: 0,
			lastBreachAt: at + 5,
			lastBreachDimension: "tokens",
		});
	});

	test("a report that fits is added although its dimension is exhausted, which stays", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { tokens: 101 } });
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 60 } })).toMatchObject({ outcome: "ok" });
		expect(await scene.ff.budgets.get("team")).toMatchObject({ dimensions: { tokens: { used: 60, exhausted: true } } });
	});

	test("the first soft limit passed is told, everything is added, and it counts as a soft breach", async (scene) => {
		await scene.ff.budgets.create({ id: "team", dimensions: { a: { soft: 5 }, b: { soft: 1 } } });
		expect(await scene.ff.budgets.usage("team", { dims: { b: 2, a: 6 } })).toEqual({
			outcome: "soft_breach",
			dimension: "a",
			current: 6,
			limit: 5,
			duplicate: false,
		});
		expect(await scene.ff.budgets.usage("team", { dims: { b: 1 } })).toMatchObject({
			dimension: "b",
			current: 3,
			limit: 1,
		});
		expect(await scene.ff.budgets.get("team")).toMatchObject({ softBreachCount: 2, breachCount: 0 });
		expect(await usedOf(scene)).toEqual({ a: 6, b: 3 });
	});

	test("a dimension the budget does not name is counted without a limit", async (scene) => {
		await scene.ff.budgets.create(team);
		const most = 10 ** 15 - 1;
		expect(await scene.ff.budgets.usage("team", { dims: { bytes: most } })).toMatchObject({ outcome: "ok" });
		expect((await scene.ff.budgets.get("team")).dimensions.bytes).toEqual({
			used: most,
			reserved: 0,
			exhausted: false,
		});
	});

	test("a budget counts at most 64 dimensions, whoever names them", async (scene) => {
		await scene.ff.budgets.create(team);
		const more = Object.fromEntries(Array.from({ length: 62 }, (_, n) => [`d${n}`, 1]));
		await scene.ff.budgets.usage("team", { dims: more });
		expect(await refusal(scene.ff.budgets.usage("team", { dims: { tokens: 1, one: 1 } }))).toMatchObject({
			code: "budget_full",
			status: 409,
		});
		const patched = scene.ff.budgets.patch("team", { dimensions: { one: { hard: 1 } } });
		expect((await refusal(patched)).code).toBe("budget_full");
		expect(await scene.ff.budgets.usage("team", { dims: { tokens: 1, d0: 1 } })).toMatchObject({ outcome: "ok" });
		expect(await usedOf(scene)).toMatchObject({ tokens: 1 });
	});

	test("a report under a dedup key is added once and answered as it was at first", async (scene) => {
		await scene.ff.budgets.create(team);
		const report = { dims: { tokens: 90 }, dedupKey: "k" };
		const first = { outcome: "soft_breach", dimension: "tokens", current: 90, limit: 80 };
		expect(await scene.ff.budgets.usage("team", report)).toEqual({ ...first, duplicate: false });
		await scene.ff.budgets.usage("team", { dims: { tokens: 5 } });
		expect(await scene.ff.budgets.usage("team", report)).toEqual({ ...first, duplicate: true });
		expect(await scene.ff.budgets.usage("team", { ...report, dims: { tokens: 1 } })).toEqual({
			...first,
			duplicate: true,
		});
		expect(await usedOf(scene)).toMatchObject({ tokens: 95 });
	});

	test("reports under one dedup key that come at the same time are added once", async (scene) => {
		await scene.ff.budgets.create(team);
		const report = { dims: { calls: 1 }, dedupKey: "k" };
		const replies = await Promise.all(Array.from({ length: 10 }, () => scene.ff.budgets.usage("team", report)));
		expect(replies.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
		expect(await usedOf(scene)).toMatchObject({ calls: 1 });
	});

	test("a dedup key belongs to its budget, lasts 24 hours, and outlives a reset; an empty one is none", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.create({ ...team, id: "other" });
		await scene.ff.budgets.usage("team", { dims: { calls: 1 }, dedupKey: "k" });
		expect(await scene.ff.budgets.usage("other", { dims: { calls: 1 }, dedupKey: "k" })).toMatchObject({
			duplicate: false,
		});
		for (let n = 0; n < 2; n++) {
			expect(await scene.ff.budgets.usage("team", { dims: { calls: 1 }, dedupKey: "" })).toMatchObject({
				duplicate: false,
			});
		}
		await scene.ff.budgets.reset("team");
		await scene.clock.advance(24 * HOUR_MS - 1);
		expect(await scene.ff.budgets.usage("team", { dims: { calls: 1 }, dedupKey: "k" })).toMatchObject({
			duplicate: true,
		});
		await scene.clock.advance(1);
		expect(await scene.ff.budgets.usage("team", { dims: { calls: 1 }, dedupKey: "k" })).toMatchObject({
			duplicate: false,
		});
	});

	test("a refusal is not remembered: the same key is judged anew", async (scene) => {
		await scene.ff.budgets.create(team);
		const report = { dims: { calls: 11 }, dedupKey: "k" };
		expect(await scene.ff.budgets.usage("team", report)).toMatchObject({ outcome: "hard_breach", duplicate: false });
		expect(await scene.ff.budgets.usage("team", report)).toMatchObject({ outcome: "hard_breach", duplicate: false });
		await scene.ff.budgets.patch("team", { dimensions: { calls: { hard: 11 } } });
		expect(await scene.ff.budgets.usage("team", report)).toMatchObject({ outcome: "ok", duplicate: false });
		expect(await scene.ff.budgets.usage("team", report)).toMatchObject({ outcome: "ok", duplicate: true });
	});

	test("a budget nobody made takes no reports", async (scene) => {
		const held = await scene.start();
		const { id, fence } = held;
		expect((await refusal(scene.ff.budgets.usage("team", { dims: { a: 1 } }))).code).toBe("budget_not_found");
		const byWorker = scene.backend.leases.usage(id, { fence, budget: "team", dims: { a: 1 } });
		expect(await refusal(byWorker)).toMatchObject({ code: "budget_not_found", status: 404 });
	});

	test("a worker reports under its fence, for its own execution", async (scene) => {
		await scene.ff.budgets.create({ ...team, namespace: "n" });
		const { id, fence } = await scene.start({ namespace: "n" });
		const reply = await scene.backend.leases.usage(id, { fence, budget: "team", dims: { tokens: 90 } });
		expect(reply).toEqual({ outcome: "soft_breach", dimension: "tokens", current: 90, limit: 80, duplicate: false });
		const breach = await scene.backend.leases.usage(id, { fence, budget: "team", dims: { tokens: 90 } });
		expect(breach).toMatchObject({ outcome: "hard_breach" });
		expect(await scene.ff.budgets.ledger("team", { namespace: "n" })).toEqual({
			entries: [{ executionId: id, dims: { tokens: 90 }, reportedAt: scene.now }],
		});
		// The lease goes on as it was: nothing is to happen to it here.
		await scene.backend.leases.complete(id, { fence });
	});

	test("a fence is checked before anything is added, like everywhere", async (scene) => {
		await scene.ff.budgets.create(team);
		const { id, fence } = await scene.start({}, { leaseMs: 1000 });
		const usage = (given: object) => scene.backend.leases.usage(id, { budget: "team", dims: { calls: 1 }, ...given });
		expect((await refusal(usage({}))).code).toBe("fence_required");
		expect((await refusal(usage({ fence: foreignFence }))).code).toBe("stale_lease");
		const unknown = scene.backend.leases.usage(unknownId, { fence, budget: "team", dims: { calls: 1 } });
		expect((await refusal(unknown)).code).toBe("execution_not_found");
		await scene.clock.advance(1000);
		expect((await refusal(usage({ fence }))).code).toBe("lease_expired");
		const again = await scene.take();
		await scene.backend.executions.revokeLease(id);
		expect((await refusal(usage({ fence: again.fence }))).code).toBe("lease_revoked");
		const last = await scene.take();
		await scene.backend.leases.complete(id, { fence: last.fence });
		expect((await refusal(usage({ fence: last.fence }))).code).toBe("execution_not_active");
		expect(await usedOf(scene)).toMatchObject({ calls: 0 });
	});

	test("a worker bound to a namespace reports on budgets of that one", async (scene) => {
		await scene.ff.budgets.create({ ...team, namespace: "a" });
		const ada = scene.as({ actor: "ada", namespace: "a" });
		const { id, fence } = await scene.start({ namespace: "a" });
		const report = { fence, budget: "team", dims: { calls: 1 } };
		expect(await ada.leases.usage(id, report)).toMatchObject({ outcome: "ok" });
		const bob = scene.as({ actor: "bob", namespace: "b" });
		expect((await refusal(bob.leases.usage(id, report))).code).toBe("execution_not_found");
	});

	test("the ledger tells who spent what, the latest report first, page by page", async (scene) => {
		await scene.ff.budgets.create({ id: "team", dimensions: {} });
		const ids: string[] = [];
		for (let n = 0; n < 7; n++) {
			const id = await scene.create();
			ids.push(id);
			await scene.clock.advance(1);
			await scene.ff.budgets.usage("team", { dims: { tokens: n + 1 }, executionId: id });
		}
		await scene.clock.advance(1);
		await scene.ff.budgets.usage("team", { dims: { tokens: 10, calls: 1 }, executionId: ids[2] as string });
		const found: unknown[] = [];
		let pages = 0;
		for (let cursor: string | undefined; pages < 10; ) {
			const page = await scene.ff.budgets.ledger("team", { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
			found.push(...page.entries);
			pages++;
			cursor = page.nextCursor;
			if (cursor === undefined) break;
		}
		expect(pages).toBe(3);
		const start = scene.now - 8;
		expect(found).toEqual([
			{ executionId: ids[2], dims: { tokens: 13, calls: 1 }, reportedAt: scene.now },
			...[6, 5, 4, 3, 1, 0].map((n) => ({
				executionId: ids[n],
				dims: { tokens: n + 1 },
				reportedAt: start + n + 1,
			})),
		]);
	});

	test("what nobody in particular spent, or somebody who is not there, is one entry", async (scene) => {
		await scene.ff.budgets.create(team);
		await scene.ff.budgets.usage("team", { dims: { calls: 1 } });
		await scene.clock.advance(1);
		await scene.ff.budgets.usage("team", { dims: { calls: 2 }, executionId: unknownId });
		const other = await scene.create({ namespace: "other" });
		await scene.ff.budgets.usage("team", { dims: { tokens: 3 }, executionId: other });
		expect(await scene.ff.budgets.ledger("team")).toEqual({
			entries: [{ dims: { calls: 3, tokens: 3 }, reportedAt: scene.now }],
		});
	});

	test("the sums of the ledger are what is used", async (scene) => {
		await scene.ff.budgets.create({ id: "team", dimensions: { tokens: { hard: 200 } } });
		const ids = [await scene.create(), await scene.create(), undefined];
		for (let n = 0; n < 30; n++) {
			const executionId = ids[n % 3];
			const who = executionId === undefined ? {} : { executionId };
			await scene.ff.budgets.usage("team", { dims: { tokens: n, [`d${n % 4}`]: 1 }, ...who });
		}
		await scene.ff.budgets.release("team", { executionId: ids[0] as string });
		const sums: Record<string, number> = {};
		for (const { dims } of (await scene.ff.budgets.ledger("team")).entries) {
			for (const [name, amount] of Object.entries(dims)) sums[name] = (sums[name] ?? 0) + amount;
		}
		expect(sums).toEqual(await usedOf(scene));
	});

	test("a release takes back what an execution spent, exactly and once, and clears what it gave back", async (scene) => {
		await scene.ff.budgets.create(team);
		const [a, b] = [await scene.create(), await scene.create()];
		await scene.ff.budgets.usage("team", { dims: { tokens: 60, calls: 3 }, executionId: a });
		await scene.ff.budgets.usage("team", { dims: { tokens: 20, calls: 7 }, executionId: b });
		await scene.ff.budgets.usage("team", { dims: { tokens: 50 } });
		await scene.ff.budgets.usage("team", { dims: { calls: 1 } });
		expect(await scene.ff.budgets.release("team", { executionId: a })).toEqual({ released: { tokens: 60, calls: 3 } });
		expect(await scene.ff.budgets.release("team", { executionId: a })).toEqual({ released: {} });
		expect(await scene.ff.budgets.get("team")).toMatchObject({
			dimensions: { tokens: { used: 20, exhausted: false }, calls: { used: 7, exhausted: false } },
			breachCount: 2,
		});
		expect((await scene.ff.budgets.ledger("team")).entries.map(({ executionId }) => executionId)).toEqual([b]);
		expect(await scene.ff.budgets.release("team", { executionId: unknownId })).toEqual({ released: {} });
	});

	test("a release leaves exhausted what it gave nothing back of", async (scene) => {
		await scene.ff.budgets.create(team);
		const id = await scene.create();
		await scene.ff.budgets.usage("team", { dims: { tokens: 60 }, executionId: id });
		await scene.ff.budgets.usage("team", { dims: { calls: 11 } });
		await scene.ff.budgets.release("team", { executionId: id });
		expect(await scene.ff.budgets.get("team")).toMatchObject({ dimensions: { calls: { exhausted: true } } });
	});

	test("a release that is said again under its id takes nothing back that was spent since", async (scene) => {
		await scene.ff.budgets.create(team);
		const executionId = await scene.create();
		await scene.ff.budgets.usage("team", { dims: { tokens: 60 }, executionId });
		const release = { executionId, requestId: "r" };
		expect(await scene.ff.budgets.release("team", release)).toEqual({ released: { tokens: 60 } });
		await scene.ff.budgets.usage("team", { dims: { tokens: 5 }, executionId });
		expect(await scene.ff.budgets.release("team", release)).toEqual({ released: { tokens: 60 } });
		expect(await usedOf(scene)).toMatchObject({ tokens: 5 });
	});

	test("with a new period earlier entries leave the ledger, and a release takes back none of them", async (scene) => {
		await scene.ff.budgets.create({ ...team, resetEvery: 1000 });
		const executionId = await scene.create();
		await scene.ff.budgets.usage("team", { dims: { tokens: 60 }, executionId });
		await scene.clock.advance(1000);
		expect(await scene.ff.budgets.ledger("team")).toEqual({ entries: [] });
		expect(await scene.ff.budgets.release("team", { executionId })).toEqual({ released: {} });
		await scene.ff.budgets.usage("team", { dims: { tokens: 7 }, executionId });
		expect(await scene.ff.budgets.ledger("team")).toMatchObject({ entries: [{ executionId, dims: { tokens: 7 } }] });
		await scene.ff.budgets.reset("team");
		expect(await scene.ff.budgets.release("team", { executionId })).toEqual({ released: {} });
		expect(await usedOf(scene)).toMatchObject({ tokens: 0 });
	});

	test("a handler reports through its context, and a breach does not throw", async (scene) => {
		await scene.ff.budgets.create(team);
		const worker = scene.ff.worker({ handleSignals: false });
		const replies: unknown[] = [];
		worker.handle("job", async (ctx) => {
			replies.push(await ctx.usage("team", { tokens: 90 }, { dedupKey: `${ctx.execution.id}-1` }));
			replies.push(await ctx.usage("team", { tokens: 90 }, { dedupKey: `${ctx.execution.id}-1` }));
			replies.push(await ctx.usage("team", { calls: 1 }));
			replies.push(await ctx.usage("team", { calls: 1 }));
			replies.push(await ctx.usage("team", { tokens: 90 }));
		});
		await worker.start();
		const id = await scene.create();
		await scene.backend.executions.wait(id);
		await worker.stop();
		expect(replies).toMatchObject([
			{ outcome: "soft_breach", duplicate: false },
			{ outcome: "soft_breach", duplicate: true },
			{ outcome: "ok", duplicate: false },
			{ outcome: "ok", duplicate: false },
			{ outcome: "hard_breach", current: 90, limit: 100 },
		]);
		expect(await usedOf(scene)).toEqual({ tokens: 90, calls: 2 });
	});
}
