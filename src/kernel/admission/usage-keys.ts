import {
	type BudgetRecord,
	type KeyedDeed,
	makeUsageKey,
	type UsageKeyRecord,
	usageKeyKey,
} from "../records/budget.ts";
import type { Tx } from "../tx.ts";

/** How long it is known what was done under a key. */
const KEPT_MS = 86_400_000;

/** What was done to a budget under a key, if it was; not to one of the same name that was deleted. */
export function doneBefore(
	tx: Tx,
	{ namespace, id, firstPeriod }: BudgetRecord,
	deed: KeyedDeed,
	key: string,
	now: number,
): UsageKeyRecord | undefined {
	const known = tx.get(usageKeyKey(namespace, id, deed, key));
	return known && known.expiresAt > now && known.period >= firstPeriod ? known : undefined;
}

export function rememberDone(
	tx: Tx,
	{ namespace, id, period }: BudgetRecord,
	deed: KeyedDeed,
	key: string,
	outcome: Partial<UsageKeyRecord>,
	now: number,
): void {
	tx.put(usageKeyKey(namespace, id, deed, key), makeUsageKey({ ...outcome, period, expiresAt: now + KEPT_MS }));
}
