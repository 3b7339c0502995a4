import type { BudgetRecord, ResetEvery } from "../records/budget.ts";
import { amend } from "../records/record.ts";
import { releasing } from "./waiting.ts";

const DAY_MS = 86_400_000;

/** When the next period begins; 0 when none ever does. */
export function nextReset(every: ResetEvery | null, from: number, now: number): number {
	if (every === null) return 0;
	if (every === "daily") return (Math.floor(now / DAY_MS) + 1) * DAY_MS;
	if (every === "monthly") {
		const date = new Date(now);
		return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
	}
	return from + (Math.floor(Math.max(0, now - from) / every) + 1) * every;
}

/** The budget as it is now: a period that is over is over, whether or not anybody has come to say so. */
export function asOf(budget: BudgetRecord, now: number): BudgetRecord {
	if (budget.nextResetAt === 0 || budget.nextResetAt > now) return budget;
	return reset(budget, now, nextReset(budget.resets?.every ?? null, budget.nextResetAt, now));
}

/** Begins a new period: what was spent is forgotten, what was promised stays. */
export function reset(budget: BudgetRecord, now: number, nextResetAt = budget.nextResetAt): BudgetRecord {
	return releasing(amend(budget, { used: {}, exhausted: {}, period: budget.period + 1, nextResetAt }), now);
}
