import { addAmounts } from "../admission/budget-room.ts";
import { doneBefore, rememberDone } from "../admission/usage-keys.ts";
import { releasing } from "../admission/waiting.ts";
import type { Outcome } from "../outcome.ts";
import { type Amounts, budgetKey, ledgerKey } from "../records/budget.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { type BudgetName, findBudget, noBudget, without } from "./define-budget.ts";

export interface ReleaseSpendCommand extends BudgetName {
	op: "releaseSpend";
	executionId: string;
	/** Said again under the same id it was done already. */
	requestId?: string;
}

export type ReleaseSpendOutcome = Outcome<{ released: Amounts }>;

/** Takes back what an execution spent in this period: once, since the ledger then knows nothing of it. */
export function releaseSpend(tx: Tx, command: ReleaseSpendCommand, now: number): ReleaseSpendOutcome {
	const budget = findBudget(tx, command, now);
	if (!budget) return noBudget(command);
	const { executionId, requestId } = command;
	const { namespace, id } = budget;
	const known = requestId === undefined ? undefined : doneBefore(tx, budget, "release", requestId, now);
	if (known) return { ok: true, released: known.released };

	const key = ledgerKey(namespace, id, executionId);
	const entry = tx.get(key);
	const released = entry?.period === budget.period ? entry.dims : {};
	const dimensions = Object.keys(released);
	if (entry && dimensions.length > 0) {
		if (entry.holdId === "") tx.remove(key);
		else tx.put(key, amend(entry, { dims: {} }));
	}
	const used = addAmounts(budget.used, released, -1);
	const next = amend(budget, { used, exhausted: without(budget.exhausted, dimensions) });
	tx.put(budgetKey(namespace, id), dimensions.length > 0 ? releasing(next, now) : budget);
	if (requestId !== undefined) rememberDone(tx, budget, "release", requestId, { released }, now);
	return { ok: true, released };
}
