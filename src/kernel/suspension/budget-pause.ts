import type { Deed } from "../changing.ts";
import type { BudgetBreach, ExecutionRecord } from "../records/execution.ts";
import { partsOf } from "../records/execution.ts";
import type { Tx } from "../tx.ts";
import { budgetWaitpoint } from "./budget-waitpoint.ts";
import { BUDGET_APPROVE, BUDGET_REJECT } from "./resuming.ts";
import { beginSuspension, enterSuspension, type SuspensionTerms } from "./suspending.ts";

/**
 * A budget takes the lease off an execution and asks whether it may go on. It also waits among what the budget keeps from
 * running, and goes on when that admits it again.
 */
export function pauseByBudget(
	tx: Tx,
	record: ExecutionRecord,
	breach: BudgetBreach,
	detail: string,
	uuids: readonly string[],
	deed: Deed,
): void {
	const { budget } = breach;
	const terms: SuspensionTerms = {
		reason: "paused_by_budget",
		condition: { anyOf: [{ signal: BUDGET_APPROVE }, { signal: BUDGET_REJECT }] },
		keys: [budgetWaitpoint(budget)],
		timeoutBehavior: "fail",
		resumeDelayMs: 0,
		idempotencyKey: "",
		digest: "",
		budget,
		uuids,
	};
	const begun = beginSuspension(tx, record, partsOf(record), terms, deed.now);
	enterSuspension(tx, record, begun, { terms, by: "revoked", isReplaying: false, detail, breach }, deed);
}
