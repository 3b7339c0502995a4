import { asOf } from "../admission/budget-period.ts";
import { addAmounts } from "../admission/budget-room.ts";
import { trimWindow } from "../admission/sliding-window.ts";
import { releasing } from "../admission/waiting.ts";
import type { Outcome } from "../outcome.ts";
import { holdersQueue } from "../placement.ts";
import { type Amounts, budgetKey } from "../records/budget.ts";
import { type GuardName, isGone } from "../records/guard.ts";
import type { HoldRecord } from "../records/hold.ts";
import { quotaKey } from "../records/quota.ts";
import { amend, type Key } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/** More holds than this are not read to see what was reserved. */
const MOST_READ = 1000;

export interface RecountCommand {
	op: "recount";
	guard: GuardName;
}

/** What was wrong, for a person; undefined when nothing was. */
export type RecountOutcome = Outcome<{ corrected?: string }>;

/** Counts what is held of a budget or quota, hold by hold, and puts its sums right. */
export function recount(tx: Tx, { guard }: RecountCommand, now: number): RecountOutcome {
	return guard.kind === "quota" ? recountSlots(tx, guard, now) : recountReserved(tx, guard, now);
}

function recountSlots(tx: Tx, guard: GuardName, now: number): RecountOutcome {
	const key = quotaKey(guard.namespace, guard.id);
	const quota = tx.get(key);
	if (!quota || isGone(quota)) return { ok: true };
	const held = tx.all(holdersQueue(guard), key).length;
	const trimmed = trimWindow(tx, quota, now);
	if (held === quota.held) {
		if (trimmed !== quota) tx.put(key, trimmed);
		return { ok: true };
	}
	tx.put(key, releasing(amend(trimmed, { held }), now));
	return { ok: true, corrected: `quota ${guard.id}: ${quota.held} slots were counted, ${held} are held` };
}

function recountReserved(tx: Tx, guard: GuardName, now: number): RecountOutcome {
	const key = budgetKey(guard.namespace, guard.id);
	const budget = tx.get(key);
	if (!budget || isGone(budget)) return { ok: true };
	const holds = tx.all(holdersQueue(guard), key, MOST_READ);
	if (holds.length === MOST_READ) return { ok: true };
	tx.expect(holds.map((hold) => hold.key));
	let reserved: Amounts = {};
	for (const hold of holds) {
		const record = tx.getReadable(hold.key as Key<HoldRecord>);
		if (!record) return { ok: true };
		if (record.reserved) reserved = addAmounts(reserved, record.reserved);
	}
	if (isSame(reserved, budget.reserved)) return { ok: true };
	tx.put(key, releasing(amend(asOf(budget, now), { reserved }), now));
	const [counted, held] = [budget.reserved, reserved].map((amounts) => JSON.stringify(amounts));
	return { ok: true, corrected: `budget ${guard.id}: ${counted} was counted as reserved, ${held} is` };
}

const isSame = (a: Amounts, b: Amounts): boolean => Object.keys(addAmounts(a, b, -1)).length === 0;
