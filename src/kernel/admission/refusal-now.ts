import type { BudgetRecord } from "../records/budget.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { type GuardName, type GuardRecord, isGone } from "../records/guard.ts";
import type { QuotaRecord } from "../records/quota.ts";
import { asOf } from "./budget-period.ts";
import { budgetRefusal } from "./budget-room.ts";
import { wantedOf } from "./guards.ts";
import { quotaRefusal } from "./quota-room.ts";

/** Why a budget or quota, as it was read, would not admit an execution now; undefined when it would. */
export function refusalNow(
	guard: GuardName,
	record: GuardRecord | undefined,
	execution: ExecutionRecord,
	now: number,
): string | undefined {
	if (!record || isGone(record)) return undefined;
	if (guard.kind === "quota") return quotaRefusal(record as QuotaRecord, now)?.detail;
	return budgetRefusal(asOf(record as BudgetRecord, now), wantedOf(execution, guard))?.detail;
}
