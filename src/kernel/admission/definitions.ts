import type { BudgetRecord, Limit, ResetEvery } from "../records/budget.ts";
import type { QuotaRecord, Rate } from "../records/quota.ts";

/** What whoever makes a budget says of it. */
export interface BudgetDefinition extends Pick<BudgetRecord, "dimensions" | "onHard" | "labels"> {
	resetEvery: ResetEvery | null;
}

export type QuotaDefinition = Pick<QuotaRecord, "rate" | "concurrency" | "holdWhileSuspended" | "jitterMs">;

/** Whether a budget is already what somebody wants to make: then it is made twice, and that is no mistake. */
export const isBudget = (budget: BudgetRecord, { dimensions, resetEvery, onHard, labels }: BudgetDefinition): boolean =>
	(budget.resets?.every ?? null) === resetEvery &&
	budget.onHard === onHard &&
	areSame(budget.labels, labels, (a, b) => a === b) &&
	areSame(budget.dimensions, dimensions, isSameLimit);

export const isQuota = (quota: QuotaRecord, definition: QuotaDefinition): boolean =>
	isSameRate(quota.rate, definition.rate) &&
	quota.concurrency === definition.concurrency &&
	quota.holdWhileSuspended === definition.holdWhileSuspended &&
	quota.jitterMs === definition.jitterMs;

const isSameLimit = (a: Limit, b: Limit): boolean => a.hard === b.hard && a.soft === b.soft;

const isSameRate = (a: Rate | null, b: Rate | null): boolean => a?.max === b?.max && a?.windowMs === b?.windowMs;

function areSame<V>(
	a: Readonly<Record<string, V>>,
	b: Readonly<Record<string, V>>,
	isSame: (a: V, b: V) => boolean,
): boolean {
	const names = Object.keys(a);
	return (
		names.length === Object.keys(b).length &&
		names.every((name) => Object.hasOwn(b, name) && isSame(a[name] as V, b[name] as V))
	);
}
