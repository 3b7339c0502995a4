import { addAmounts } from "../admission/budget-room.ts";
import { areCountable, dimensionsOf, MOST_DIMENSIONS } from "../admission/dimensions.ts";
import { entryOf } from "../admission/holding.ts";
import { doneBefore, rememberDone } from "../admission/usage-keys.ts";
import { type Outcome, refuse } from "../outcome.ts";
import {
	type Amounts,
	type BudgetRecord,
	budgetKey,
	type LedgerEntryRecord,
	ledgerKey,
	makeLedgerEntry,
} from "../records/budget.ts";
import { type HoldRecord, holdKey } from "../records/hold.ts";
import { amend, type Key } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { type BudgetName, findBudget, noBudget } from "./define-budget.ts";

export interface ReportUsageCommand extends BudgetName {
	op: "reportUsage";
	dims: Amounts;
	/** Who spent it; left out for nobody in particular. */
	executionId?: string;
	/** Said again under the same key, it is counted once. */
	dedupKey?: string;
}

export type ReportUsageOutcome = Outcome<{
	outcome: "ok" | "soft_breach" | "hard_breach";
	dimension?: string;
	current?: number;
	limit?: number;
	duplicate: boolean;
}>;

/** A report that fits below all hard limits is counted as a whole, any other not at all. */
export function reportUsage(tx: Tx, command: ReportUsageCommand, now: number): ReportUsageOutcome {
	const budget = findBudget(tx, command, now);
	if (!budget) return noBudget(command);
	const { dims, executionId = "", dedupKey = "" } = command;
	const { namespace, id } = budget;
	const known = dedupKey === "" ? undefined : doneBefore(tx, budget, "report", dedupKey, now);
	if (known) {
		const { outcome, dimension, current, limit } = known;
		return { ok: true, outcome, ...(outcome === "ok" ? undefined : { dimension, current, limit }), duplicate: true };
	}
	const entry = entryOf(tx.get(ledgerKey(namespace, id, executionId)), budget.period);
	const reservation = reservationOf(tx, budget, entry);
	const promised = fromReservation(reservation?.hold.reserved ?? {}, dims);

	const over = dimensionOver(budget, dims, promised);
	if (over) return breach(tx, budget, over, dims[over] ?? 0, now);

	const used = addAmounts(budget.used, dims);
	const reserved = addAmounts(budget.reserved, promised, -1);
	if (!areCountable(used) || dimensionsOf({ ...budget, used, reserved }).length > MOST_DIMENSIONS) {
		return refuse("budget_full", { budget: id });
	}
	const passed = softLimitPassed(budget, used, dims);
	const changes: Partial<BudgetRecord> = { used, reserved };
	if (passed) changes.softBreachCount = budget.softBreachCount + 1;
	tx.put(budgetKey(namespace, id), amend(budget, changes));
	if (reservation) {
		const { key, hold } = reservation;
		tx.put(key, amend(hold, { reserved: addAmounts(hold.reserved ?? {}, promised, -1) }));
	}
	enter(tx, budget, entry, executionId, dims, now);
	const outcome = passed ? ({ outcome: "soft_breach", ...passed } as const) : ({ outcome: "ok" } as const);
	if (dedupKey !== "") rememberDone(tx, budget, "report", dedupKey, outcome, now);
	return { ok: true, ...outcome, duplicate: false };
}

/** What is left of what was promised to an execution. */
function reservationOf(
	tx: Tx,
	{ namespace, id }: BudgetRecord,
	entry: LedgerEntryRecord | undefined,
): { key: Key<HoldRecord>; hold: HoldRecord } | undefined {
	if (!entry || entry.holdId === "") return undefined;
	const key = holdKey({ kind: "budget", namespace, id }, entry.holdId);
	const hold = tx.get(key);
	return hold?.reserved && hold.givenBackAt === 0 ? { key, hold } : undefined;
}

function fromReservation(reserved: Amounts, dims: Amounts): Amounts {
	const promised: Record<string, number> = {};
	for (const dimension in dims) {
		const amount = Math.min(dims[dimension] ?? 0, reserved[dimension] ?? 0);
		if (amount > 0) promised[dimension] = amount;
	}
	return promised;
}

/** The first dimension a report goes over. What nothing is reported of is over nothing. */
function dimensionOver({ dimensions, used, reserved }: BudgetRecord, dims: Amounts, promised: Amounts) {
	return Object.keys(dimensions).find((dimension) => {
		const { hard } = dimensions[dimension] ?? {};
		const amount = dims[dimension] ?? 0;
		if (hard === undefined || amount === 0) return false;
		const spent = used[dimension] ?? 0;
		const beyond = amount - (promised[dimension] ?? 0);
		// What was promised to others is spent as far as anybody else is concerned.
		return spent + amount > hard || (beyond > 0 && spent + (reserved[dimension] ?? 0) + beyond > hard);
	});
}

function softLimitPassed({ dimensions }: BudgetRecord, used: Amounts, dims: Amounts) {
	for (const dimension of Object.keys(dimensions)) {
		const { soft } = dimensions[dimension] ?? {};
		const current = used[dimension] ?? 0;
		if (soft !== undefined && (dims[dimension] ?? 0) > 0 && current > soft) return { dimension, current, limit: soft };
	}
	return undefined;
}

/** Nothing is counted, and nothing admitted until the dimension is cleared; whoever holds the budget is told, once. */
function breach(tx: Tx, budget: BudgetRecord, dimension: string, report: number, now: number): ReportUsageOutcome {
	const { namespace, id, exhausted } = budget;
	const breachCount = budget.breachCount + 1;
	const changes: Partial<BudgetRecord> = { breachCount, lastBreachAt: now, lastBreachDimension: dimension };
	changes.exhausted = { ...exhausted, [dimension]: { at: now, report } };
	if (!exhausted[dimension]) changes.breach = { number: breachCount, dimension, tellAt: now };
	tx.put(budgetKey(namespace, id), amend(budget, changes));
	const current = budget.used[dimension] ?? 0;
	const limit = budget.dimensions[dimension]?.hard ?? 0;
	return { ok: true, outcome: "hard_breach", dimension, current, limit, duplicate: false };
}

/** The ledger says who spent what. */
function enter(
	tx: Tx,
	{ namespace, id, period }: BudgetRecord,
	entry: LedgerEntryRecord | undefined,
	executionId: string,
	dims: Amounts,
	now: number,
): void {
	const spent = addAmounts(entry?.dims ?? {}, dims);
	if (Object.keys(spent).length === 0) return;
	const key = ledgerKey(namespace, id, executionId);
	const changes = { dims: spent, reportedAt: now };
	tx.put(key, entry ? amend(entry, changes) : makeLedgerEntry({ executionId, period, ...changes }));
}
