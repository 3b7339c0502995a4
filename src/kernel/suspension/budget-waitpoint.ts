const PREFIX = "budget:";

/** Where a budget that paused an execution is answered. */
export const budgetWaitpoint = (budget: string): string => PREFIX + budget;

/** The budget that is answered at a waitpoint; undefined for any other. */
export const budgetOfWaitpoint = (key: string): string | undefined =>
	key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
