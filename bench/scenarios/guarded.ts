import type { Target } from "../target.ts";
import { lifecycle } from "./lifecycle.ts";

/** How many budgets and quotas there are, each execution naming one of each kind. */
export interface Guards {
	budgets: number;
	quotas: number;
}

/** Limits that nobody reaches: what is measured is the asking. */
const PLENTY = 1_000_000_000;

/** The same lifecycles, each of which a budget and a quota must admit. */
export async function guardedLifecycle(target: Pick<Target, "ff">, count: number, guards: Guards): Promise<number> {
	const { ff } = target;
	for (let n = 0; n < guards.budgets; n++)
		await ff.budgets.create({ id: `budget-${n}`, dimensions: { tokens: { hard: PLENTY } } });
	for (let n = 0; n < guards.quotas; n++) await ff.quotas.create({ id: `quota-${n}`, concurrency: PLENTY });
	return lifecycle(target, count, (n) => ({
		...(guards.budgets > 0 ? { budgets: [`budget-${n % guards.budgets}`] } : undefined),
		...(guards.quotas > 0 ? { quotas: [`quota-${n % guards.quotas}`] } : undefined),
	}));
}
