import { budgetKey, ledgerKey, makeLedgerEntry } from "../records/budget.ts";
import { type GuardName, isGone } from "../records/guard.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { addAmounts } from "./budget-room.ts";
import { entryOf } from "./holding.ts";

/** An execution is gone: what it spent is kept with what nobody in particular did. */
export function forgetSpender(tx: Tx, { namespace, id }: GuardName, executionId: string): void {
	const key = ledgerKey(namespace, id, executionId);
	const entry = tx.get(key);
	if (!entry) return;
	tx.remove(key);
	const budget = tx.get(budgetKey(namespace, id));
	if (!budget || isGone(budget) || entry.period !== budget.period) return;
	const common = ledgerKey(namespace, id, "");
	const known = entryOf(tx.get(common), budget.period) ?? makeLedgerEntry({ period: budget.period });
	tx.put(
		common,
		amend(known, {
			dims: addAmounts(known.dims, entry.dims),
			reportedAt: Math.max(known.reportedAt, entry.reportedAt),
		}),
	);
}
