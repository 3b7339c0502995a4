import { endAdmission } from "../admission/admitting.ts";
import { asOf } from "../admission/budget-period.ts";
import { budgetRefusal } from "../admission/budget-room.ts";
import { refusing } from "../admission/waiting.ts";
import { type Deed, ending, leaseEvent } from "../changing.ts";
import type { Outcome } from "../outcome.ts";
import { budgetKey, type OnHard } from "../records/budget.ts";
import {
	amendExecution,
	type BudgetBreach,
	type ExecutionRecord,
	executionKey,
	type LeaseEnd,
} from "../records/execution.ts";
import { amend } from "../records/record.ts";
import { pauseByBudget } from "../suspension/budget-pause.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";
import { lapseGrant } from "./grant.ts";

/** How long the holder of work that a budget cancels has to end it. */
const GRACE_MS = 30_000;

export interface BreachCommand {
	op: "breach";
	budget: string;
	dimension: string;
	action: OnHard;
	/** Why, for a person. */
	reason: string;
	/** `uuids` are for the suspension of one that the budget pauses, and for its waitpoint. */
	holders: readonly { executionId: string; holdId: string; uuids: readonly string[] }[];
	actor: string;
}

/** Holders that go on, and hear of it only by what they are told now and by their next renewal. */
export type BreachOutcome = Outcome<{ told: ExecutionRecord[] }>;

/**
 * A budget refused a report: whatever was admitted under it, running or about to, is treated as the budget says. What is no
 * longer held has ended meanwhile; what was told before is not told again.
 */
export function breach(tx: Tx, command: BreachCommand, now: number): BreachOutcome {
	const { budget, dimension, action, reason, holders, actor } = command;
	const breached: BudgetBreach = { budget, dimension, action };
	const deed = { now, actor };
	const told: ExecutionRecord[] = [];
	tx.expect(holders.map(({ executionId }) => executionKey(executionId)));
	for (const { executionId, holdId, uuids } of holders) {
		const record = tx.get(executionKey(executionId));
		if (!record || record.hold?.id !== holdId || isTold(record, breached)) continue;
		if (action === "fail") failBy(tx, record, breached, reason, deed);
		else if (action === "cancel") cancelBy(tx, record, breached, reason, deed);
		else if (action === "suspend") suspendBy(tx, record, breached, reason, uuids, deed);
		else if (record.lease) {
			const next = amendExecution(record, { lease: { ...record.lease, breach: breached } });
			tx.put(executionKey(record.id), next);
			told.push(next);
		} else {
			tx.put(executionKey(record.id), amendExecution(record, { hold: { ...record.hold, breach: breached } }));
		}
	}
	return { ok: true, told };
}

/** What the budget does about it may have changed since. */
function isTold({ lease, hold }: ExecutionRecord, { budget, dimension, action }: BudgetBreach): boolean {
	const known = lease ? lease.breach : hold?.breach;
	return known?.budget === budget && known.dimension === dimension && known.action === action;
}

/** Never retried: whatever it would spend is refused too. */
function failBy(tx: Tx, record: ExecutionRecord, breached: BudgetBreach, reason: string, deed: Deed): void {
	const changes = ending(record, "failed", deed.now, "revoked");
	const failure = { reason, category: "budget_exceeded" };
	changes.failure = failure;
	if (changes.attempt) changes.attempt.failure = failure;
	noteBreach(changes, breached);
	transition(tx, record, changes, deed, { ...leaseEvent("failed", record), ...failure });
}

function cancelBy(tx: Tx, record: ExecutionRecord, breached: BudgetBreach, reason: string, deed: Deed): void {
	const request = { source: "budget", requestedAt: deed.now, reason } as const;
	if (!record.lease) {
		endCancelled(tx, record.cancel ? record : amendExecution(record, { cancel: request }), "cancel", deed);
		return;
	}
	const lease = { ...record.lease, breach: breached };
	if (record.cancel) {
		tx.put(executionKey(record.id), amendExecution(record, { lease }));
		return;
	}
	const deadlineAt = deed.now + GRACE_MS;
	const event = { type: "cancel_requested", source: request.source, reason, deadlineAt } as const;
	transition(tx, record, { lease, cancel: { ...request, deadlineAt } }, deed, event);
}

/** What was not leased yet goes back to its queue: the budget will refuse it there. */
function suspendBy(
	tx: Tx,
	record: ExecutionRecord,
	breached: BudgetBreach,
	reason: string,
	uuids: readonly string[],
	deed: Deed,
): void {
	if (record.cancel && record.lease) endCancelled(tx, record, "revoked", deed);
	else if (record.lease) pauseByBudget(tx, record, breached, reason, uuids, deed);
	else if (record.grant) lapseGrant(tx, record, deed);
	else endAdmission(tx, record, deed);
}

function noteBreach(changes: Partial<ExecutionRecord>, breached: BudgetBreach): void {
	const end: LeaseEnd | null | undefined = changes.lastLease;
	if (end) end.breach = breached;
}

export interface BreachToldCommand {
	op: "breachTold";
	namespace: string;
	id: string;
	number: number;
}

/** All holders have been told; of a later breach they are still to be. */
export function breachTold(tx: Tx, { namespace, id, number }: BreachToldCommand, now: number): Outcome {
	const key = budgetKey(namespace, id);
	const budget = tx.get(key);
	if (budget?.breach?.number !== number) return { ok: true };
	const told = asOf(amend(budget, { breach: null }), now);
	// What it paused waits for it from now on, and need not if the budget was raised or reset meanwhile.
	const freeAt = budgetRefusal(told, undefined) ? undefined : now;
	tx.put(key, budget.onHard === "suspend" ? refusing(told, now, freeAt) : told);
	return { ok: true };
}
