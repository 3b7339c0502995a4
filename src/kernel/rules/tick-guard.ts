import { asOf } from "../admission/budget-period.ts";
import { addAmounts } from "../admission/budget-room.ts";
import { clearWindow } from "../admission/sliding-window.ts";
import { lookUntil, settledAt } from "../admission/waiting.ts";
import { earliest, holdersQueue, ledgerQueue, usageKeysQueue } from "../placement.ts";
import type { BudgetRecord, LedgerEntryRecord } from "../records/budget.ts";
import { type GuardKind, type GuardRecord, isGone } from "../records/guard.ts";
import type { HoldRecord } from "../records/hold.ts";
import type { QuotaRecord } from "../records/quota.ts";
import { amend, type Key } from "../records/record.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/** Records removed in one step, so that no unit grows with what belongs to a budget or quota. */
const REMOVALS_PER_STEP = 100;
/** Whoever has not been told by then is told again. */
const TELL_AGAIN_MS = 2000;

/** Whatever is due on a budget, one thing at a time. */
export function tickBudget(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const budget = tx.get(key as Key<BudgetRecord>);
	if (!budget) return { ok: true };
	if (isGone(budget)) return tickRelease(tx, key, budget, "budget", now) ?? removeBudget(tx, key, budget, now);
	const current = asOf(budget, now);
	if (current !== budget) {
		tx.put(key, current);
		return { ok: true, duty: "budget_reset" };
	}
	const { breach } = budget;
	if (breach && breach.tellAt <= now) {
		tx.put(key, amend(budget, { breach: { ...breach, tellAt: now + TELL_AGAIN_MS } }));
		return { ok: true, duty: "breach", errand: { type: "breach", budget, breach } };
	}
	const released = tickRelease(tx, key, budget, "budget", now);
	if (released) return released;
	if (budget.ledgerFrom === budget.period) return notYet([budget.releaseAt, budget.nextResetAt, breach?.tellAt ?? 0]);
	const isEmpty = forgetEntries(tx, key, budget);
	if (isEmpty) tx.put(key, amend(budget, { ledgerFrom: budget.ledgerFrom + 1 }));
	return { ok: true, duty: "budget_reset" };
}

export function tickQuota(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const quota = tx.get(key as Key<QuotaRecord>);
	if (!quota) return { ok: true };
	return (
		tickRelease(tx, key, quota, "quota", now) ??
		(isGone(quota) ? removeQuota(tx, key, quota, now) : notYet([quota.releaseAt]))
	);
}

/** Nothing is due before the first of these times, of which 0 is none. */
function notYet(times: readonly number[]): TickOutcome {
	const early = earliest(times);
	return early > 0 ? { ok: true, early } : { ok: true };
}

/** What waits is looked at in other partitions too, so somebody else does it; it stays due until that is done. */
function tickRelease(
	tx: Tx,
	key: Key<GuardRecord>,
	guard: GuardRecord,
	kind: GuardKind,
	now: number,
): TickOutcome | undefined {
	if (guard.releaseAt === 0 || guard.releaseAt > now) return undefined;
	const releaseAt = lookUntil(now);
	tx.put(key, amend(guard, { releaseAt }));
	const { namespace, id } = guard;
	return { ok: true, duty: "release", errand: { type: "release", guard: { kind, namespace, id }, releaseAt } };
}

/** A step of removing all that belongs to a budget that was deleted. Made again meanwhile, it has promised what is left. */
function removeBudget(tx: Tx, key: Key<BudgetRecord>, budget: BudgetRecord, now: number): TickOutcome {
	if (budget.removeAt > now) return notYet([budget.removeAt, budget.releaseAt]);
	const { namespace, id, ledgerFrom, period } = budget;
	const holds = removeAll<HoldRecord>(tx, key, holdersQueue({ kind: "budget", namespace, id }));
	if (holds.length > 0) {
		const reserved = holds.reduce((left, hold) => addAmounts(left, hold.reserved ?? {}, -1), budget.reserved);
		tx.put(key, amend(budget, { removeAt: now, reserved }));
		return { ok: true, duty: "budget_removal" };
	}
	const isEmpty = forgetEntries(tx, key, budget) && removeAll(tx, key, usageKeysQueue(namespace, id)).length === 0;
	if (isEmpty && ledgerFrom === period) end(tx, key, budget);
	else tx.put(key, amend(budget, { removeAt: now, ledgerFrom: isEmpty ? ledgerFrom + 1 : ledgerFrom }));
	return { ok: true, duty: "budget_removal" };
}

function removeQuota(tx: Tx, key: Key<QuotaRecord>, quota: QuotaRecord, now: number): TickOutcome {
	if (quota.removeAt > now) return notYet([quota.removeAt, quota.releaseAt]);
	const { namespace, id } = quota;
	const holds = removeAll<HoldRecord>(tx, key, holdersQueue({ kind: "quota", namespace, id }));
	if (holds.length === 0) end(tx, key, clearWindow(tx, quota));
	else tx.put(key, amend(quota, { removeAt: now, held: Math.max(0, quota.held - holds.length) }));
	return { ok: true, duty: "quota_removal" };
}

/** Some of the earliest entries of a ledger; true when there were none. */
function forgetEntries(tx: Tx, key: Key<BudgetRecord>, budget: BudgetRecord): boolean {
	const { namespace, id, ledgerFrom, period } = budget;
	const entries = tx.all(ledgerQueue(namespace, id, ledgerFrom), key, REMOVALS_PER_STEP);
	tx.expect(entries.map((entry) => entry.key));
	for (const { key: entryKey } of entries) {
		const entry = tx.get(entryKey as Key<LedgerEntryRecord>);
		// What is reserved stays reserved when a period ends, and so does the entry that leads there.
		if (entry && entry.holdId !== "" && !isGone(budget)) tx.put(entryKey, amend(entry, { period, dims: {} }));
		else tx.remove(entryKey);
	}
	return entries.length === 0;
}

/** Removes some of what stands in a queue of a budget or quota that was deleted. */
function removeAll<R extends object>(tx: Tx, guard: Key<GuardRecord>, queue: string): R[] {
	const entries = tx.all(queue, guard, REMOVALS_PER_STEP);
	tx.expect(entries.map(({ key }) => key));
	return entries.flatMap(({ key }) => {
		const record = tx.get(key as Key<R>);
		tx.remove(key);
		return record ? [record] : [];
	});
}

/** Whoever was refused by it may yet come to wait: it is kept until nobody can. */
function end<R extends GuardRecord>(tx: Tx, key: Key<R>, guard: R): void {
	if (guard.waitersAt === 0) tx.remove(key);
	else tx.put(key, amend(guard, { removeAt: settledAt(guard) + 1 } as Partial<R>));
}
