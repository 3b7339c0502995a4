import { describe, expect, it } from "vitest";
import type { CommandOf } from "../../src/kernel/kernel.ts";
import { guardsQueue, ledgerQueue, usageKeysQueue } from "../../src/kernel/placement.ts";
import { encode } from "../../src/kernel/record-types.ts";
import { budgetKey, ledgerKey } from "../../src/kernel/records/budget.ts";
import { executionKey } from "../../src/kernel/records/execution.ts";
import { holdKey } from "../../src/kernel/records/hold.ts";
import { amend } from "../../src/kernel/records/record.ts";
import { claimOne } from "./claim-command.ts";
import { MapPartition } from "./map-tx.ts";

const NOW = 1_700_000_000_000;
const NAME = { namespace: "default", id: "team" };
const KEY = budgetKey("default", "team");
const GUARD = { kind: "budget", ...NAME } as const;
const DAY_MS = 86_400_000;

type Fields = Partial<CommandOf<"createBudget">>;

function stage(fields: Fields = {}) {
	const partition = new MapPartition();
	const create = (more: Fields = {}, at = NOW) =>
		partition.run(
			{
				op: "createBudget",
				...NAME,
				dimensions: { tokens: { hard: 100 } },
				resetEvery: null,
				onHard: "block",
				labels: {},
				...fields,
				...more,
			},
			at,
		);
	const report = (dims: Record<string, number>, more: Partial<CommandOf<"reportUsage">> = {}, at = NOW) =>
		partition.run({ op: "reportUsage", ...NAME, dims, ...more }, at);
	const patch = (more: Partial<CommandOf<"patchBudget">>, at = NOW) =>
		partition.run({ op: "patchBudget", ...NAME, ...more }, at);
	const tick = (at: number) =>
		partition.run({ op: "tick", key: KEY, writableSince: 0, jitter: 0 } as CommandOf<"tick"> & { op: "tick" }, at);
	/** Something may wait for it, as after a refusal. */
	const withWaiters = () => {
		const budget = partition.read(KEY);
		if (budget) partition.docs.set(KEY, encode(KEY, amend(budget, { waitersAt: NOW, releaseAt: 0 })));
	};
	/** A lease holds the budget, with something reserved. */
	const reserve = (executionId: string, holdId: string, wanted: Record<string, number>) =>
		partition.run(
			{ op: "reserve", guard: GUARD, requests: [{ executionId, holdId, until: NOW + 5000, wanted }], jitter: 0 },
			NOW,
		);
	create();
	return { partition, create, report, patch, tick, withWaiters, reserve, budget: () => partition.read(KEY) };
}

describe("a budget is made", () => {
	it("once: the same definition again changes nothing, another is refused", () => {
		const { create, report, budget } = stage({ labels: { team: "a" } });
		report({ tokens: 5 });
		expect(create({ dimensions: { tokens: { hard: 100 } } })).toMatchObject({ ok: true, created: false });
		expect(create({ dimensions: { tokens: { hard: 101 } } })).toMatchObject({ ok: false, code: "already_exists" });
		expect(create({ dimensions: { tokens: { hard: 100, soft: 1 } } })).toMatchObject({ code: "already_exists" });
		expect(create({ dimensions: {} })).toMatchObject({ code: "already_exists" });
		expect(create({ labels: {} })).toMatchObject({ code: "already_exists" });
		expect(create({ onHard: "fail" })).toMatchObject({ code: "already_exists" });
		expect(create({ resetEvery: 1000 })).toMatchObject({ code: "already_exists" });
		expect(budget()?.used).toEqual({ tokens: 5 });
	});

	it("with the time of its first reset", () => {
		expect(stage({ resetEvery: 1000 }).budget()?.nextResetAt).toBe(NOW + 1000);
		expect(stage({ resetEvery: "daily" }).budget()?.nextResetAt).toBe((Math.floor(NOW / DAY_MS) + 1) * DAY_MS);
		expect(stage({ resetEvery: "monthly" }).budget()?.nextResetAt).toBe(Date.UTC(2023, 11, 1));
	});

	it("anew where one was deleted, of which only the reservations of its holders are left", () => {
		const { partition, create, report, reserve, budget } = stage();
		reserve("ex_1", "le_1", { tokens: 30 });
		report({ tokens: 80 });
		report({ tokens: 20, more: 1 }, { executionId: "ex_1", dedupKey: "k" });
		partition.run({ op: "deleteBudget", ...NAME }, NOW);
		expect(report({ tokens: 1 })).toMatchObject({ code: "budget_not_found" });
		expect(create({ dimensions: { tokens: { hard: 7 } } }, NOW + 1)).toMatchObject({ ok: true, created: true });
		expect(budget()).toMatchObject({ used: {}, exhausted: {}, breachCount: 0, reserved: { tokens: 10 }, removeAt: 0 });
		expect(partition.queue(guardsQueue("budget", "default"))).toEqual([{ key: KEY, score: NOW + 1 }]);
		expect(partition.queue(ledgerQueue("default", "team", budget()?.period ?? 0))).toEqual([]);
		// A key of the one that is gone says nothing of this one.
		expect(report({ more: 2 }, { dedupKey: "k" })).toMatchObject({ outcome: "ok", duplicate: false });
	});
});

describe("a report", () => {
	it("is counted when it comes to the limit, and not at all when it goes over", () => {
		const { report, budget } = stage({ dimensions: { tokens: { hard: 100 }, calls: { hard: 2 } } });
		expect(report({ tokens: 100, calls: 1 })).toEqual({ ok: true, outcome: "ok", duplicate: false });
		expect(report({ tokens: 1, calls: 1 })).toEqual({
			ok: true,
			outcome: "hard_breach",
			dimension: "tokens",
			current: 100,
			limit: 100,
			duplicate: false,
		});
		expect(budget()?.used).toEqual({ tokens: 100, calls: 1 });
	});

	it("that is refused marks its dimension, counts, and has the holders told once", () => {
		const { report, budget } = stage({ dimensions: { tokens: { hard: 100 }, calls: { hard: 2 } } });
		report({ tokens: 101 }, {}, NOW + 1);
		expect(budget()).toMatchObject({
			exhausted: { tokens: { at: NOW + 1, report: 101 } },
			breachCount: 1,
			lastBreachAt: NOW + 1,
			lastBreachDimension: "tokens",
			breach: { number: 1, dimension: "tokens", tellAt: NOW + 1 },
		});
		report({ tokens: 102 }, {}, NOW + 2);
		expect(budget()).toMatchObject({ breachCount: 2, breach: { number: 1 }, exhausted: { tokens: { report: 102 } } });
		report({ calls: 3 }, {}, NOW + 3);
		expect(budget()).toMatchObject({ breachCount: 3, breach: { number: 3, dimension: "calls" } });
	});

	it("that was refused pauses holders; if the budget was raised meanwhile, they go on as soon as all have been told", () => {
		const { report, patch, partition, budget } = stage({ onHard: "suspend" });
		report({ tokens: 101 });
		patch({ dimensions: { tokens: { hard: 1000 } } }, NOW + 1);
		partition.run({ op: "breachTold", ...NAME, number: 1 }, NOW + 2);
		expect(budget()).toMatchObject({ breach: null, waitersAt: NOW + 2, releaseAt: NOW + 2 });
	});

	it("that was refused pauses holders; if the budget still refuses, they are looked at later", () => {
		const { report, partition, budget } = stage({ onHard: "suspend" });
		report({ tokens: 101 });
		partition.run({ op: "breachTold", ...NAME, number: 1 }, NOW + 2);
		expect(budget()?.releaseAt).toBeGreaterThan(NOW + 1000);
	});

	it("that was refused pauses holders also if the budget is made anew meanwhile: they count as waiting for that one", () => {
		const { report, create, patch, partition, budget } = stage({ onHard: "suspend" });
		report({ tokens: 101 });
		partition.run({ op: "deleteBudget", ...NAME }, NOW + 1);
		create({}, NOW + 1);
		expect(budget()).toMatchObject({ breach: null, waitersAt: NOW + 1, releaseAt: NOW + 1 });
		partition.run({ op: "looked", guard: GUARD, isEmpty: true, releaseAt: NOW + 1 }, NOW + 2);
		patch({ dimensions: { tokens: { hard: 1000 } } }, NOW + 3);
		expect(budget()?.releaseAt).toBe(NOW + 3);
	});

	it("tells the first soft limit it passes, in the order the budget names them, and counts all the same", () => {
		const { report, budget } = stage({ dimensions: { a: { soft: 10 }, b: { soft: 1, hard: 50 } } });
		expect(report({ a: 10, b: 1 })).toMatchObject({ outcome: "ok" });
		expect(report({ b: 1 })).toMatchObject({ outcome: "soft_breach", dimension: "b", current: 2, limit: 1 });
		expect(report({ b: 1, a: 1 })).toMatchObject({ outcome: "soft_breach", dimension: "a", current: 11, limit: 10 });
		expect(report({ c: 1 })).toMatchObject({ outcome: "ok" });
		expect(budget()).toMatchObject({ used: { a: 11, b: 3, c: 1 }, softBreachCount: 2, breachCount: 0 });
	});

	it("under a key is counted once in 24 hours; one that was refused is judged anew", () => {
		const { partition, report, patch, budget } = stage({ dimensions: { tokens: { hard: 100, soft: 10 } } });
		const first = report({ tokens: 20 }, { dedupKey: "k" });
		expect(report({ tokens: 99 }, { dedupKey: "k" }, NOW + DAY_MS - 1)).toEqual({ ...first, duplicate: true });
		expect(report({ tokens: 90 }, { dedupKey: "refused" })).toMatchObject({ outcome: "hard_breach" });
		patch({ dimensions: { tokens: { hard: 200 } } });
		expect(report({ tokens: 90 }, { dedupKey: "refused" })).toMatchObject({ outcome: "soft_breach", duplicate: false });
		expect(report({ tokens: 1 }, { dedupKey: "" })).toMatchObject({ duplicate: false });
		expect(report({ tokens: 1 }, { dedupKey: "" })).toMatchObject({ duplicate: false });
		expect(report({ tokens: 5 }, { dedupKey: "k" }, NOW + DAY_MS)).toMatchObject({ duplicate: false });
		expect(budget()?.used).toEqual({ tokens: 117 });
		expect(partition.queue(usageKeysQueue("default", "team"))).toHaveLength(2);
	});

	it("of one who reserved is taken from that first, and nobody spends what was promised to another", () => {
		const { partition, report, reserve, budget } = stage();
		reserve("ex_1", "le_1", { tokens: 40 });
		reserve("ex_2", "le_2", { tokens: 30 });
		expect(report({ tokens: 31 })).toMatchObject({ outcome: "hard_breach", current: 0 });
		expect(report({ tokens: 30 })).toMatchObject({ outcome: "ok" });
		expect(report({ tokens: 25 }, { executionId: "ex_1" })).toMatchObject({ outcome: "ok" });
		expect(budget()).toMatchObject({ used: { tokens: 55 }, reserved: { tokens: 45 } });
		expect(partition.read(holdKey(GUARD, "le_1"))?.reserved).toEqual({ tokens: 15 });
		expect(report({ tokens: 16 }, { executionId: "ex_1" })).toMatchObject({ outcome: "hard_breach", current: 55 });
		expect(report({ tokens: 15 }, { executionId: "ex_1" })).toMatchObject({ outcome: "ok" });
		expect(report({ tokens: 1 }, { executionId: "ex_1" })).toMatchObject({ outcome: "hard_breach" });
		expect(budget()).toMatchObject({ used: { tokens: 70 }, reserved: { tokens: 30 } });
	});

	it("within a reservation passes although others' no longer fit under a lowered limit", () => {
		const { report, patch, reserve } = stage();
		reserve("ex_1", "le_1", { tokens: 40 });
		reserve("ex_2", "le_2", { tokens: 40 });
		patch({ dimensions: { tokens: { hard: 50 } } });
		expect(report({ tokens: 40 }, { executionId: "ex_1" })).toMatchObject({ outcome: "ok" });
		expect(report({ tokens: 11 }, { executionId: "ex_2" })).toMatchObject({ outcome: "hard_breach" });
		expect(report({ tokens: 10 }, { executionId: "ex_2" })).toMatchObject({ outcome: "ok" });
	});

	it("belongs to the period in which it comes, whether or not anybody ended the last", () => {
		const { partition, report, budget } = stage({ resetEvery: 1000 });
		report({ tokens: 100 }, { executionId: "ex_1" });
		expect(report({ tokens: 1 })).toMatchObject({ outcome: "hard_breach" });
		expect(report({ tokens: 60 }, { executionId: "ex_1" }, NOW + 2500)).toMatchObject({ outcome: "ok" });
		expect(budget()).toMatchObject({ used: { tokens: 60 }, exhausted: {}, period: 1, nextResetAt: NOW + 3000 });
		expect(partition.read(ledgerKey("default", "team", "ex_1"))).toMatchObject({ period: 1, dims: { tokens: 60 } });
	});

	it("of a sixty-fifth dimension, or beyond what can be counted exactly, is refused", () => {
		const { report } = stage();
		const many = Object.fromEntries(Array.from({ length: 63 }, (_, n) => [`d${n}`, 1]));
		expect(report(many)).toMatchObject({ outcome: "ok" });
		expect(report({ one: 1 })).toMatchObject({ ok: false, code: "budget_full" });
		for (let n = 0; n < 9; n++) report({ d0: 10 ** 15 - 1 });
		expect(report({ d0: 10 ** 15 - 1 })).toMatchObject({ code: "budget_full" });
	});

	it("of nothing changes nothing, though more is used than may be", () => {
		const { report, patch, budget } = stage();
		report({ tokens: 90 });
		patch({ dimensions: { tokens: { hard: 10 } } });
		expect(report({ tokens: 0 }, { executionId: "ex_1" })).toMatchObject({ outcome: "ok" });
		expect(budget()?.exhausted).toEqual({});
	});
});

describe("what an execution spent", () => {
	it("is taken back exactly once", () => {
		const { partition, report, budget, withWaiters } = stage();
		report({ tokens: 60, calls: 2 }, { executionId: "ex_1" });
		report({ tokens: 40 }, { executionId: "ex_2" });
		report({ tokens: 1 });
		withWaiters();
		const release = (requestId?: string) =>
			partition.run({ op: "releaseSpend", ...NAME, executionId: "ex_1", ...(requestId ? { requestId } : {}) }, NOW + 1);
		expect(release("r")).toEqual({ ok: true, released: { tokens: 60, calls: 2 } });
		expect(budget()).toMatchObject({ used: { tokens: 40 }, exhausted: {}, releaseAt: NOW + 1 });
		expect(partition.read(ledgerKey("default", "team", "ex_1"))).toBeUndefined();
		expect(release()).toEqual({ ok: true, released: {} });
		report({ tokens: 5 }, { executionId: "ex_1" });
		// Said again it is the same release, not another.
		expect(release("r")).toEqual({ ok: true, released: { tokens: 60, calls: 2 } });
		expect(budget()?.used).toEqual({ tokens: 45 });
	});

	it("is taken back of this period only, and what it has reserved it keeps", () => {
		const { partition, report, reserve, budget } = stage({ resetEvery: 1000 });
		reserve("ex_1", "le_1", { tokens: 30 });
		report({ tokens: 20 }, { executionId: "ex_1" });
		const release = (at: number) => partition.run({ op: "releaseSpend", ...NAME, executionId: "ex_1" }, at);
		expect(release(NOW + 1000)).toEqual({ ok: true, released: {} });
		report({ tokens: 5 }, { executionId: "ex_1" }, NOW + 1000);
		expect(release(NOW + 1001)).toEqual({ ok: true, released: { tokens: 5 } });
		expect(budget()).toMatchObject({ used: {}, reserved: { tokens: 5 } });
		expect(partition.read(ledgerKey("default", "team", "ex_1"))).toMatchObject({ dims: {}, holdId: "le_1" });
	});
});

describe("a budget is changed", () => {
	it("as far as something is given; null takes a dimension or a limit away", () => {
		const { patch, budget } = stage({ dimensions: { a: { hard: 5, soft: 3 }, b: { hard: 1 } }, labels: { team: "x" } });
		patch({ dimensions: { a: { soft: null }, b: null, c: { hard: 9 } } });
		expect(budget()).toMatchObject({ dimensions: { a: { hard: 5 }, c: { hard: 9 } }, labels: { team: "x" } });
		expect(budget()?.dimensions.a).toEqual({ hard: 5 });
		patch({ onHard: "cancel", labels: { owner: "y" } });
		expect(budget()).toMatchObject({ onHard: "cancel", labels: { owner: "y" } });
		expect(budget()?.labels).toEqual({ owner: "y" });
	});

	it("and what was exhausted is not any more, in the dimensions it names; what waits is looked at", () => {
		const { report, patch, withWaiters, budget } = stage({ dimensions: { a: { hard: 1 }, b: { hard: 1 } } });
		report({ a: 2 });
		report({ b: 2 });
		withWaiters();
		patch({ onHard: "fail" });
		expect(budget()).toMatchObject({ exhausted: { a: {}, b: {} }, releaseAt: 0 });
		patch({ dimensions: { a: {} } }, NOW + 3);
		expect(budget()?.exhausted).toEqual({ b: { at: NOW, report: 2 } });
		expect(budget()?.releaseAt).toBe(NOW + 3);
	});

	it("and its next reset is reckoned anew only when it comes at other times", () => {
		const { patch, budget } = stage({ resetEvery: 1000 });
		patch({ resetEvery: 1000 }, NOW + 500);
		expect(budget()?.nextResetAt).toBe(NOW + 1000);
		patch({ resetEvery: 2000 }, NOW + 500);
		expect(budget()?.nextResetAt).toBe(NOW + 2500);
		patch({ resetEvery: null }, NOW + 600);
		expect(budget()).toMatchObject({ resets: null, nextResetAt: 0 });
	});
});

it("a reset begins a new period: nothing is used or exhausted, what is reserved stays, the next comes when it would have", () => {
	const { partition, report, reserve, budget, withWaiters } = stage({ resetEvery: 1000 });
	reserve("ex_1", "le_1", { tokens: 30 });
	report({ tokens: 50 });
	report({ tokens: 50 });
	withWaiters();
	const reset = () => partition.run({ op: "resetBudget", ...NAME, requestId: "r" }, NOW + 1);
	expect(reset()).toMatchObject({ ok: true, budget: { nextResetAt: NOW + 1000 } });
	expect(budget()).toMatchObject({
		used: {},
		exhausted: {},
		reserved: { tokens: 30 },
		breachCount: 1,
		releaseAt: NOW + 1,
	});
	report({ tokens: 7 }, {}, NOW + 2);
	expect(reset()).toMatchObject({ ok: true });
	expect(budget()?.used).toEqual({ tokens: 7 });
});

it("a budget that is deleted takes all that belongs to it along", () => {
	const { partition, report, reserve, tick } = stage();
	reserve("ex_1", "le_1", { tokens: 30 });
	report({ tokens: 5 }, { executionId: "ex_1", dedupKey: "k" });
	report({ tokens: 5 });
	expect(partition.run({ op: "deleteBudget", ...NAME }, NOW)).toEqual({ ok: true });
	expect(partition.run({ op: "deleteBudget", ...NAME }, NOW)).toMatchObject({ code: "budget_not_found" });
	expect(partition.queue(guardsQueue("budget", "default"))).toEqual([]);
	for (let n = 0; n < 10 && partition.docs.size > 0; n++) tick(NOW + n);
	expect([...partition.docs.keys()]).toEqual([]);
});

describe("what waits for a budget is forgotten", () => {
	/** A look that finds nothing: when it begins, and when it is over. */
	const lookIn = ({ tick, partition }: ReturnType<typeof stage>, begins: number, ends: number) => {
		tick(begins);
		const { releaseAt = 0 } = partition.read(KEY) ?? {};
		partition.run({ op: "looked", guard: GUARD, isEmpty: true, releaseAt }, ends);
	};

	it("after a look that began when all that was refused had been set aside, not one that only ended then", () => {
		const staged = stage();
		const { withWaiters, patch, budget } = staged;
		withWaiters();
		patch({ dimensions: { tokens: { hard: 200 } } }, NOW + 1);
		lookIn(staged, NOW + 4000, NOW + 20_000);
		expect(budget()?.waitersAt).toBe(NOW);
		lookIn(staged, NOW + 20_001, NOW + 20_002);
		expect(budget()).toMatchObject({ waitersAt: 0, releaseAt: 0 });
	});
});

describe("what a budget elsewhere has refused", () => {
	const CLASS = { namespace: "default", lane: "default", kind: "job", requiredCapabilities: [], isGuarded: true };
	const ID = `ex_${"0".repeat(31)}1_7`;

	function held() {
		const partition = new MapPartition();
		const work = { kind: "job", namespace: "default", lane: "default", priority: 0, policy: {}, input: null };
		const made = { op: "create" as const, executionId: ID, ...work, budgets: ["team"], retentionMs: 1000 };
		partition.run({ ...made, createdBy: "me", actor: "me" }, NOW);
		const admission = { jitter: 0, refused: new Map(), unreadable: new Set<string>(), isAlone: false, most: 10 };
		partition.run(claimOne(CLASS, 1, { admission }), NOW);
		const record = () => partition.read(executionKey(ID));
		const settle = (at: number) => {
			const refusal = { detail: "budget team: tokens 100/100", limit: "tokens", isForAll: true, at: NOW };
			const fate = { refusedBy: GUARD, refusal };
			const settlements = [{ executionId: ID, holdId: record()?.hold?.id ?? "", fate }];
			partition.run({ op: "settle", namespace: "default", lane: "default", settlements, actor: "w-1" }, at);
		};
		return { record, settle };
	}

	it("is set aside while it is held", () => {
		const { record, settle } = held();
		settle(NOW + 4999);
		expect(record()).toMatchObject({ eligibilityState: "blocked_by_budget", blockedOn: "team" });
	});

	it("goes back to its queue when the time it was held for is over: the budget no longer expects it to wait", () => {
		const { record, settle } = held();
		settle(NOW + 5000);
		expect(record()).toMatchObject({ eligibilityState: "eligible_now", hold: null });
	});
});
