import type { Amounts, BudgetRecord } from "../records/budget.ts";

/** Dimensions one budget counts, those it does not name among them. */
export const MOST_DIMENSIONS = 64;

/** All that a budget limits, counts or has promised: first those it names. */
export function dimensionsOf({ dimensions, used, reserved }: Pick<BudgetRecord, "dimensions" | "used" | "reserved">) {
	return [...new Set([...Object.keys(dimensions), ...Object.keys(used), ...Object.keys(reserved)])];
}

/** Whether all of these can be counted exactly. */
export const areCountable = (amounts: Amounts): boolean => Object.values(amounts).every(Number.isSafeInteger);
