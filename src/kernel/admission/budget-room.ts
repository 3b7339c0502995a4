import type { Amounts, BudgetRecord } from "../records/budget.ts";

/** Why a budget does not admit something. */
export interface BudgetRefusal {
	dimension: string;
	/** For a person, naming the budget. */
	detail: string;
	/** Whether it admits nothing at all, whatever that wants reserved. */
	isForAll: boolean;
}

/** Undefined when a budget, as it is now, admits work that wants so much reserved. */
export function budgetRefusal(budget: BudgetRecord, wanted: Amounts | undefined): BudgetRefusal | undefined {
	for (const dimension in budget.dimensions) {
		const { hard } = budget.dimensions[dimension] ?? {};
		const used = amountOf(budget.used, dimension);
		const reserved = amountOf(budget.reserved, dimension);
		const exhausted = Object.hasOwn(budget.exhausted, dimension) ? budget.exhausted[dimension] : undefined;
		const spent = `budget ${budget.id}: ${dimension} ${used}${reserved > 0 ? ` used and ${reserved} reserved of ` : "/"}${hard ?? "no limit"}`;
		if (exhausted) return { dimension, detail: `${spent}, report of ${exhausted.report} refused`, isForAll: true };
		if (hard === undefined) continue;
		if (used + reserved >= hard) return { dimension, detail: spent, isForAll: true };
		const more = wanted ? amountOf(wanted, dimension) : 0;
		if (used + reserved + more > hard)
			return { dimension, detail: `${spent}, reservation of ${more} does not fit`, isForAll: false };
	}
	return undefined;
}

/** Names are the callers' own: what every object has is none of theirs. */
export const amountOf = (amounts: Amounts, dimension: string): number =>
	Object.hasOwn(amounts, dimension) ? (amounts[dimension] ?? 0) : 0;

/** Adds amounts to others; what comes to nothing is left out. */
export function addAmounts(to: Amounts, amounts: Amounts, sign: 1 | -1 = 1): Amounts {
	const sums: Record<string, number> = { ...to };
	for (const dimension in amounts) {
		const sum = amountOf(sums, dimension) + sign * amountOf(amounts, dimension);
		if (sum === 0) delete sums[dimension];
		else sums[dimension] = sum;
	}
	return sums;
}
