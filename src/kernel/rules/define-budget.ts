import { asOf, nextReset, reset } from "../admission/budget-period.ts";
import { type BudgetDefinition, isBudget } from "../admission/definitions.ts";
import { dimensionsOf, MOST_DIMENSIONS } from "../admission/dimensions.ts";
import { doneBefore, rememberDone } from "../admission/usage-keys.ts";
import { refusing, releasing } from "../admission/waiting.ts";
import { type Outcome, type Refusal, refuse } from "../outcome.ts";
import { type BudgetRecord, budgetKey, type Exhaustion, type Limit, makeBudget } from "../records/budget.ts";
import { isGone } from "../records/guard.ts";
import { amend } from "../records/record.ts";
import type { Tags } from "../tags.ts";
import type { Tx } from "../tx.ts";

export interface BudgetName {
	namespace: string;
	id: string;
}

export type BudgetOutcome = Outcome<{ budget: BudgetRecord }>;

/** A budget as it is now; undefined when there is none, or none any more. */
export function findBudget(tx: Tx, { namespace, id }: BudgetName, now: number): BudgetRecord | undefined {
	const budget = tx.get(budgetKey(namespace, id));
	return budget && !isGone(budget) ? asOf(budget, now) : undefined;
}

export const noBudget = ({ id }: Pick<BudgetName, "id">): Refusal => refuse("budget_not_found", { budget: id });

export interface CreateBudgetCommand extends BudgetName, BudgetDefinition {
	op: "createBudget";
}

export type CreateBudgetOutcome = Outcome<{ budget: BudgetRecord; created: boolean }>;

export function createBudget(tx: Tx, command: CreateBudgetCommand, now: number): CreateBudgetOutcome {
	const { namespace, id, dimensions, resetEvery, onHard, labels } = command;
	const key = budgetKey(namespace, id);
	const known = tx.get(key);
	if (known && !isGone(known)) {
		const isSame = isBudget(known, command);
		return isSame ? { ok: true, budget: asOf(known, now), created: false } : refuse("already_exists", { budget: id });
	}
	const fields: Partial<BudgetRecord> = { id, namespace, createdAt: now, dimensions, onHard, labels };
	fields.resets = resetEvery === null ? null : { every: resetEvery };
	fields.nextResetAt = nextReset(resetEvery, now, now);
	const budget = known ? takeOver(known, fields, now) : makeBudget(fields);
	tx.put(key, budget);
	return { ok: true, budget, created: true };
}

/** What was deleted is not all gone yet. What its holders hold they still hold; nothing else of it counts. */
function takeOver(gone: BudgetRecord, fields: Partial<BudgetRecord>, now: number): BudgetRecord {
	const { id, namespace, createdAt, removeAt, reserved, period, ledgerFrom, waitersAt, releaseAt, ...rest } =
		makeBudget(fields);
	const taken = amend(gone, { ...rest, createdAt, removeAt, period: gone.period + 1, firstPeriod: gone.period + 1 });
	return releasing(taken, now);
}

export interface PatchBudgetCommand extends BudgetName {
	op: "patchBudget";
	/** A dimension, or a limit, of null is removed. */
	dimensions?: Readonly<Record<string, { hard?: number | null; soft?: number | null } | null>>;
	resetEvery?: BudgetDefinition["resetEvery"];
	onHard?: BudgetRecord["onHard"];
	/** All of them: what is not among them goes. */
	labels?: Tags;
}

/** Acts at once: what is given changes, the rest stays. */
export function patchBudget(tx: Tx, command: PatchBudgetCommand, now: number): BudgetOutcome {
	const budget = findBudget(tx, command, now);
	if (!budget) return noBudget(command);
	const { dimensions, resetEvery, onHard, labels } = command;
	const changes: Partial<BudgetRecord> = {};
	if (dimensions) {
		changes.dimensions = patchedLimits(budget.dimensions, dimensions);
		changes.exhausted = without(budget.exhausted, Object.keys(dimensions));
	}
	if (onHard !== undefined) changes.onHard = onHard;
	if (labels) changes.labels = labels;
	if (resetEvery !== undefined && resetEvery !== (budget.resets?.every ?? null)) {
		changes.resets = resetEvery === null ? null : { every: resetEvery };
		changes.nextResetAt = nextReset(resetEvery, now, now);
	}
	const changed = amend(budget, changes);
	if (dimensionsOf(changed).length > MOST_DIMENSIONS) return refuse("budget_full", { budget: budget.id });
	const next = dimensions ? releasing(changed, now) : changed;
	tx.put(budgetKey(budget.namespace, budget.id), next);
	return { ok: true, budget: next };
}

function patchedLimits(
	known: BudgetRecord["dimensions"],
	patch: NonNullable<PatchBudgetCommand["dimensions"]>,
): BudgetRecord["dimensions"] {
	const limits: Record<string, Limit> = { ...known };
	for (const [name, change] of Object.entries(patch)) {
		if (change === null) {
			delete limits[name];
			continue;
		}
		const limit: Limit = { ...limits[name] };
		for (const which of ["hard", "soft"] as const) {
			const value = change[which];
			if (value === null) delete limit[which];
			else if (value !== undefined) limit[which] = value;
		}
		limits[name] = limit;
	}
	return limits;
}

export function without(
	exhausted: BudgetRecord["exhausted"],
	dimensions: readonly string[],
): BudgetRecord["exhausted"] {
	const left: Record<string, Exhaustion> = { ...exhausted };
	for (const dimension of dimensions) delete left[dimension];
	return left;
}

export interface DeleteBudgetCommand extends BudgetName {
	op: "deleteBudget";
}

/** It counts as absent from now on; its ticks remove all that belongs to it. */
export function deleteBudget(tx: Tx, command: DeleteBudgetCommand, now: number): Outcome {
	const budget = findBudget(tx, command, now);
	if (!budget) return noBudget(command);
	const gone = amend(budget, { removeAt: now, breach: null });
	// Holders that are being told of a breach may yet come to wait for it, or for one that is made in its place.
	const isPausing = budget.breach !== null && budget.onHard === "suspend";
	tx.put(budgetKey(budget.namespace, budget.id), isPausing ? refusing(gone, now, now) : releasing(gone, now));
	return { ok: true };
}

export interface ResetBudgetCommand extends BudgetName {
	op: "resetBudget";
	/** Said again under the same id it was done already. */
	requestId?: string;
}

/** Begins a new period before its time; the next begins when it would have. */
export function resetBudget(tx: Tx, command: ResetBudgetCommand, now: number): BudgetOutcome {
	const budget = findBudget(tx, command, now);
	if (!budget) return noBudget(command);
	const { requestId } = command;
	if (requestId !== undefined && doneBefore(tx, budget, "reset", requestId, now)) return { ok: true, budget };
	const next = reset(budget, now);
	tx.put(budgetKey(budget.namespace, budget.id), next);
	if (requestId !== undefined) rememberDone(tx, next, "reset", requestId, {}, now);
	return { ok: true, budget: next };
}
