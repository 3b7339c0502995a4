import type { EventType, ExecutionEvent } from "./events.ts";
import type { Attempt, AttemptEnd, ExecutionRecord, LeaseEnd } from "./records/execution.ts";
import { executionKey } from "./records/execution.ts";
import { amend } from "./records/record.ts";
import { ended, type TerminalOutcome } from "./state.ts";
import type { Tx } from "./tx.ts";

export interface EventDraft {
	type: EventType;
	[detail: string]: unknown;
}

/** Who does something, and when. */
export interface Deed {
	now: number;
	actor: string;
}

/** What the holder of the live lease does. */
export const holder = (record: ExecutionRecord, now: number): Deed => ({
	now,
	actor: record.lease?.instanceId ?? "worker",
});

/** How an execution comes to be. */
export function begin(tx: Tx, record: ExecutionRecord, deed: Deed, event: EventDraft): void {
	record.events = 1;
	tell(tx, record, 1, deed, event);
	tx.put(executionKey(record.id), record);
}

/** The one way an execution changes: its record and the events that tell of it, in one step. `changes` is used up. */
export function transition(
	tx: Tx,
	record: ExecutionRecord,
	changes: Partial<ExecutionRecord>,
	deed: Deed,
	...events: EventDraft[]
): ExecutionRecord {
	changes.events = record.events + events.length;
	const next = amend(record, changes);
	let seq = record.events;
	for (const event of events) tell(tx, next, ++seq, deed, event);
	tx.put(executionKey(next.id), next);
	return next;
}

function tell(tx: Tx, record: ExecutionRecord, seq: number, deed: Deed, draft: EventDraft): void {
	const event: ExecutionEvent = {
		seq,
		at: deed.now,
		type: draft.type,
		executionId: record.id,
		namespace: record.namespace,
		actor: deed.actor,
	};
	if (record.attempt) event.attempt = record.attempt.index;
	for (const name in draft) event[name] = draft[name];
	tx.emit(event);
}

/** Takes the live lease off an execution, leaving behind what its holder's next call must be told. */
export function leaseOver(
	record: ExecutionRecord,
	now: number,
	by: LeaseEnd["by"],
	outcome?: Record<string, unknown>,
): Partial<ExecutionRecord> {
	const { lease, attempt } = record;
	if (!lease || !attempt) return {};
	return {
		lease: null,
		lastLease: { id: lease.id, epoch: lease.epoch, by, ...(outcome ? { outcome } : undefined) },
		attempt: { ...attempt, usedMs: (attempt.usedMs ?? 0) + Math.max(0, now - lease.acquiredAt) },
	};
}

/** What events say about a lease that just ended. */
export function leaseDetails(record: ExecutionRecord): Record<string, unknown> {
	const { lease } = record;
	if (!lease) return {};
	return { epoch: lease.epoch, ...(lease.renewals ? { renewals: lease.renewals } : undefined) };
}

export function attemptOver(attempt: Attempt, state: AttemptEnd, now: number, more: Partial<Attempt> = {}): Attempt {
	return { ...attempt, ...more, state, endedAt: now };
}

const attemptEndOf: Record<Exclude<TerminalOutcome, "none">, AttemptEnd> = {
	success: "ended_success",
	failed: "ended_failure",
	cancelled: "ended_cancelled",
	expired: "ended_cancelled",
	skipped: "ended_cancelled",
};

/** The changes that end an execution, whether it is running or not. An attempt that ended earlier keeps its end. */
export function ending(
	record: ExecutionRecord,
	outcome: Exclude<TerminalOutcome, "none">,
	now: number,
	by: LeaseEnd["by"],
	reply: Record<string, unknown> | undefined,
	more: Partial<Attempt> = {},
): Partial<ExecutionRecord> {
	const over = leaseOver(record, now, by, reply);
	const attempt = over.attempt ?? record.attempt;
	return {
		...ended(outcome, attempt !== null),
		...over,
		attempt:
			attempt && attempt.endedAt === undefined ? attemptOver(attempt, attemptEndOf[outcome], now, more) : attempt,
		delayUntil: 0,
		completedAt: now,
	};
}
