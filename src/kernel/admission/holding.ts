import {
	type Amounts,
	type BudgetRecord,
	budgetKey,
	type LedgerEntryRecord,
	ledgerKey,
	makeLedgerEntry,
} from "../records/budget.ts";
import { type GuardName, isGone } from "../records/guard.ts";
import { type HoldRecord, holdKey, makeHold } from "../records/hold.ts";
import { type QuotaRecord, quotaKey } from "../records/quota.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { asOf } from "./budget-period.ts";
import { addAmounts, budgetRefusal } from "./budget-room.ts";
import { quotaRefusal } from "./quota-room.ts";
import { admitInto, freeAt, refundFrom, trimWindow } from "./sliding-window.ts";
import { refusing, releasing, releasingAt } from "./waiting.ts";

/** What an execution asks of a budget or quota. */
export interface HoldRequest {
	executionId: string;
	holdId: string;
	/** A request that comes later than this is late. */
	until: number;
	wanted?: Amounts;
	isGrant?: true;
}

/** What it is answered; refusals are for a person to read. `keeps` says that the slot is kept when the execution is suspended. */
export type HoldAnswer = { admittedAt: number; keeps?: true } | { refused: HoldRefusal } | { late: true };

export interface HoldRefusal {
	detail: string;
	/** Which limit is reached: a dimension of a budget, rate or concurrency of a quota. */
	limit: string;
	/** Whether nobody else would be admitted either. */
	isForAll: boolean;
	/** When it was said, in the time of the partition of the budget or quota. */
	at: number;
}

/** A random number in 0..1, for what is released a little later than it could be. */
export type Jitter = number;

/** Why something is not admitted, which is noted; undefined when there is room for it. Takes nothing yet. */
export function refusalBy(
	tx: Tx,
	{ kind, namespace, id }: GuardName,
	wanted: Amounts | undefined,
	now: number,
	jitter: Jitter,
): HoldRefusal | undefined {
	if (kind === "budget") {
		const key = budgetKey(namespace, id);
		const budget = tx.get(key);
		if (!budget || isGone(budget)) return undefined;
		const current = asOf(budget, now);
		const refusal = budgetRefusal(current, wanted);
		const next = refusal ? refusing(current, now) : current;
		if (next !== budget) tx.put(key, next);
		return refusal && { detail: refusal.detail, limit: refusal.dimension, isForAll: refusal.isForAll, at: now };
	}
	const key = quotaKey(namespace, id);
	const quota = tx.get(key);
	if (!quota || isGone(quota)) return undefined;
	const current = trimWindow(tx, quota, now);
	const refusal = quotaRefusal(current, now);
	const next = refusal ? refusing(current, now, later(current, refusal.freeAt, jitter)) : current;
	if (next !== quota) tx.put(key, next);
	return refusal && { detail: refusal.detail, limit: refusal.limit, isForAll: true, at: now };
}

/** A little later than it could be, so that not all come back at once. */
const later = ({ jitterMs }: QuotaRecord, at: number | undefined, jitter: Jitter): number | undefined =>
	at === undefined ? undefined : at + Math.floor(jitter * jitterMs);

/** Gives what was asked for, of which there is enough. What nobody limits any more is given without a trace. */
export function take(
	tx: Tx,
	guard: GuardName,
	{ executionId, holdId, wanted, isGrant }: HoldRequest,
	now: number,
): void {
	const { kind, namespace, id } = guard;
	const fields: Partial<HoldRecord> = { executionId, since: now };
	if (isGrant) fields.isGrant = true;
	if (kind === "budget") {
		const key = budgetKey(namespace, id);
		const budget = tx.get(key);
		if (!budget || isGone(budget)) return;
		const reserved = wanted && addAmounts({}, wanted);
		if (reserved && Object.keys(reserved).length > 0) {
			fields.reserved = reserved;
			tx.put(key, amend(budget, { reserved: addAmounts(budget.reserved, reserved) }));
			noteReservation(tx, budget, executionId, holdId, now);
		}
	} else {
		const key = quotaKey(namespace, id);
		const quota = tx.get(key);
		if (!quota || isGone(quota)) return;
		const admitting = amend(admitInto(tx, quota, now), { held: quota.held + 1 });
		// What waits comes when the window moves, even if nobody is refused before.
		tx.put(key, quota.waitersAt > 0 ? releasingAt(admitting, freeAt(admitting)) : admitting);
	}
	tx.put(holdKey(guard, holdId), makeHold(fields));
}

/** What one budget or quota answers to a request. A request made before is answered as it was. */
export function ask(tx: Tx, guard: GuardName, request: HoldRequest, now: number, jitter: Jitter): HoldAnswer {
	const known = tx.getFresh(holdKey(guard, request.holdId));
	if (known) return known.givenBackAt > 0 ? { late: true } : admitted(tx, guard, known.since);
	if (request.until <= now) return { late: true };
	const refused = refusalBy(tx, guard, request.wanted, now, jitter);
	if (refused !== undefined) return { refused };
	take(tx, guard, request, now);
	return admitted(tx, guard, now);
}

const admitted = (tx: Tx, guard: GuardName, admittedAt: number): HoldAnswer =>
	keepsSlot(tx, guard) ? { admittedAt, keeps: true } : { admittedAt };

/** Whether an execution keeps what it has of this when it is suspended. */
export const keepsSlot = (tx: Tx, { kind, namespace, id }: GuardName): boolean =>
	kind === "quota" && (tx.get(quotaKey(namespace, id))?.holdWhileSuspended ?? false);

/**
 * Takes back what was given. What is given back before it was taken is marked, so that it is not taken later; that may be
 * said again. `isUnused` for what never ran: its place in the window is free again too.
 */
export function giveBack(tx: Tx, guard: GuardName, holdId: string, isUnused: boolean, now: number): void {
	const key = holdKey(guard, holdId);
	const hold = tx.get(key);
	const record = guardRecord(tx, guard);
	if (!hold) {
		if (record && !isGone(record) && isUnused) tx.put(key, makeHold({ givenBackAt: now }));
		return;
	}
	if (hold.givenBackAt > 0) return;
	tx.remove(key);
	// Also of one that was deleted: should it be made again before all of it is removed, its sums are right.
	if (!record) return;
	if (guard.kind === "quota") returnSlot(tx, record as QuotaRecord, hold, isUnused, now);
	else if (hold.reserved) returnReservation(tx, record as BudgetRecord, hold, holdId, now);
}

const guardRecord = (tx: Tx, { kind, namespace, id }: GuardName): BudgetRecord | QuotaRecord | undefined =>
	kind === "budget" ? tx.get(budgetKey(namespace, id)) : tx.get(quotaKey(namespace, id));

/** There is room that nobody has taken: what waits is to be looked at. */
export function lookAgain(tx: Tx, guard: GuardName, now: number): void {
	const { kind, namespace, id } = guard;
	const record = guardRecord(tx, guard);
	if (!record || isGone(record) || record.waitersAt === 0) return;
	const key = kind === "budget" ? budgetKey(namespace, id) : quotaKey(namespace, id);
	tx.put<BudgetRecord | QuotaRecord>(key, releasing(record, now));
}

function returnSlot(tx: Tx, quota: QuotaRecord, { since }: HoldRecord, isUnused: boolean, now: number): void {
	const refunded = isUnused ? refundFrom(tx, quota, since) : quota;
	const next = amend(refunded, { held: Math.max(0, quota.held - 1) });
	tx.put(quotaKey(quota.namespace, quota.id), releasing(next, now));
}

function returnReservation(tx: Tx, budget: BudgetRecord, hold: HoldRecord, holdId: string, now: number): void {
	const { namespace, id } = budget;
	const reserved = addAmounts(budget.reserved, hold.reserved ?? {}, -1);
	tx.put(budgetKey(namespace, id), releasing(amend(asOf(budget, now), { reserved }), now));
	const key = ledgerKey(namespace, id, hold.executionId);
	const entry = tx.get(key);
	if (entry?.holdId !== holdId) return;
	if (Object.keys(entry.dims).length === 0) tx.remove(key);
	else tx.put(key, amend(entry, { holdId: "" }));
}

/** The ledger leads from an execution to its reservation, whoever reports what it spent. */
function noteReservation(tx: Tx, budget: BudgetRecord, executionId: string, holdId: string, now: number): void {
	const { namespace, id, period } = budget;
	const key = ledgerKey(namespace, id, executionId);
	const known = entryOf(tx.get(key), period);
	tx.put(key, known ? amend(known, { holdId }) : makeLedgerEntry({ executionId, period, holdId, reportedAt: now }));
}

/** An entry as it counts in a period: of an earlier one only the reservation is left. */
export const entryOf = (entry: LedgerEntryRecord | undefined, period: number): LedgerEntryRecord | undefined =>
	entry && entry.period !== period ? amend(entry, { period, dims: {} }) : entry;
