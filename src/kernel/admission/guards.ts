import { type Amounts, budgetKey } from "../records/budget.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { type GuardName, slotOfGuard } from "../records/guard.ts";
import { quotaKey } from "../records/quota.ts";
import type { Tx } from "../tx.ts";

/** Whether an execution must be admitted by a budget or a quota before it runs. */
export const isGuarded = ({ budgets, quotas }: Pick<ExecutionRecord, "budgets" | "quotas">): boolean =>
	budgets.length > 0 || quotas.length > 0;

/** What admits an execution, in the order it is asked: budgets, then quotas, each by id. */
export function guardsOf({ namespace, budgets, quotas }: ExecutionRecord): GuardName[] {
	const guards: GuardName[] = [];
	for (const id of budgets) guards.push({ kind: "budget", namespace, id });
	for (const id of quotas) guards.push({ kind: "quota", namespace, id });
	return guards;
}

export const isKept = (kept: ExecutionRecord["kept"], quota: string): boolean =>
	kept?.some((slot) => slot.quota === quota) ?? false;

/** What has yet to admit an execution: slots it kept over a suspension it has already. */
export function guardsToAsk(record: ExecutionRecord): GuardName[] {
	const { kept } = record;
	const guards = guardsOf(record);
	return kept ? guards.filter(({ kind, id }) => kind === "budget" || !isKept(kept, id)) : guards;
}

/** What an execution wants reserved of a budget. */
export const wantedOf = ({ reserve }: ExecutionRecord, { kind, id }: GuardName): Amounts | undefined =>
	kind === "budget" && reserve && Object.hasOwn(reserve, id) ? reserve[id] : undefined;

/** Whether all that admits an execution lives beside it, so that one step can do everything. */
export const areHere = (tx: Tx, guards: readonly GuardName[]): boolean =>
	guards.every((guard) => tx.isHere(slotOfGuard(guard)));

/** The key of its own record. */
export const guardKey = ({ kind, namespace, id }: GuardName): string =>
	kind === "budget" ? budgetKey(namespace, id) : quotaKey(namespace, id);

export const guardText = ({ kind, namespace, id }: GuardName): string => `${kind} ${namespace},${id}`;
