import { passOnRoom, returnWhatIsOver } from "./admission/returning.ts";
import { leaveChildren } from "./children/leaving.ts";
import type { EmittedEvent, EventBody, EventDraft, EventType } from "./events.ts";
import { countMember } from "./flows/counting.ts";
import type { Attempt, AttemptEnd, ExecutionRecord, LeaseEnd } from "./records/execution.ts";
import { amendExecution, executionKey } from "./records/execution.ts";
import { ended, hasEnded, type TerminalOutcome } from "./state.ts";
import { endSuspension } from "./suspension/ending.ts";
import { ensureTicket, needsTicket } from "./tickets.ts";
import type { Tx } from "./tx.ts";

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
	if (needsTicket(record)) ensureTicket(tx, record, deed.now);
}

/** How an execution changes by itself: its record and the events that tell of it, in one step. `changes` is used up. */
export function change(
	tx: Tx,
	record: ExecutionRecord,
	changes: Partial<ExecutionRecord>,
	deed: Deed,
	events: readonly EventDraft[],
): ExecutionRecord {
	changes.events = record.events + events.length;
	const next = amendExecution(record, changes);
	if (record.hold !== null || record.kept !== null) returnWhatIsOver(tx, record, next, deed.now);
	if (record.blockedOn !== "" && isPassedBy(record, next)) passOnRoom(tx, record, deed.now);
	// Whoever resumed it, or let it time out, has said so already; it ends with its execution otherwise.
	if (record.suspension !== null && next.suspension === null) endSuspension(tx, record, "execution_ended", deed.now);
	if (next.parts !== null && hasEnded(next) && !hasEnded(record)) leaveChildren(tx, next);
	if (next.member !== null) countMember(tx, record, next);
	let seq = record.events;
	for (const event of events) tell(tx, next, ++seq, deed, event);
	tx.put(executionKey(next.id), next);
	if (needsTicket(next)) ensureTicket(tx, next, deed.now);
	return next;
}

/** What was released and could be claimed comes to wait for something else, or ends. */
const isPassedBy = (record: ExecutionRecord, next: ExecutionRecord): boolean =>
	record.eligibilityState === "eligible_now" &&
	next.eligibilityState !== "eligible_now" &&
	next.lease === null &&
	next.blockedOn !== record.blockedOn;

function tell(tx: Tx, record: ExecutionRecord, seq: number, deed: Deed, draft: EventDraft): void {
	const body: EventBody = { seq, type: draft.type, actor: deed.actor };
	if (record.attempt) body.attempt = record.attempt.index;
	for (const name in draft) body[name] = draft[name as keyof EventDraft];
	const event: EmittedEvent = { namespace: record.namespace, executionId: record.id, at: deed.now, body };
	if (record.flowId) event.flowId = record.flowId;
	tx.emit(event);
}

/*
 * Changes are built by assigning to one fresh object, not by spreading several into another: there are three of them per
 * lifecycle, and an object literal that spreads and then names fields costs five times as much to make.
 */

/** Takes the live lease off an execution, leaving behind what its holder's next call must be told. */
export function takeLease(
	changes: Partial<ExecutionRecord>,
	record: ExecutionRecord,
	now: number,
	by: LeaseEnd["by"],
	outcome?: Record<string, unknown>,
): void {
	const { lease, attempt } = record;
	if (!lease || !attempt) return;
	const end: LeaseEnd = { id: lease.id, epoch: lease.epoch, by };
	if (outcome) end.outcome = outcome;
	const interrupted = copyOf(attempt);
	// Whatever else a holder does with it is progress.
	if (by === "release") interrupted.releases = (attempt.releases ?? 0) + 1;
	else if (attempt.releases !== undefined) delete interrupted.releases;
	interrupted.usedMs = (attempt.usedMs ?? 0) + Math.max(0, now - lease.acquiredAt);
	changes.lease = null;
	changes.hold = null;
	changes.kept = null;
	changes.lastLease = end;
	changes.attempt = interrupted;
}

/** Ends the attempt in `changes`, if it has not ended before; an attempt that ended earlier keeps its end. */
export function endAttemptIn(
	changes: Partial<ExecutionRecord>,
	record: ExecutionRecord,
	state: AttemptEnd,
	now: number,
): Attempt | undefined {
	const attempt = changes.attempt ?? record.attempt;
	if (!attempt || attempt.endedAt !== undefined) return undefined;
	const over = changes.attempt ?? copyOf(attempt);
	over.state = state;
	over.endedAt = now;
	changes.attempt = over;
	return over;
}

export function copyOf(attempt: Attempt): Attempt {
	const copy: Attempt = {
		index: attempt.index,
		type: attempt.type,
		state: attempt.state,
		workerId: attempt.workerId,
		instanceId: attempt.instanceId,
		startedAt: attempt.startedAt,
	};
	if (attempt.endedAt !== undefined) copy.endedAt = attempt.endedAt;
	if (attempt.usedMs !== undefined) copy.usedMs = attempt.usedMs;
	if (attempt.releases !== undefined) copy.releases = attempt.releases;
	if (attempt.isRevoked !== undefined) copy.isRevoked = attempt.isRevoked;
	if (attempt.failure !== undefined) copy.failure = attempt.failure;
	if (attempt.result !== undefined) copy.result = attempt.result;
	if (attempt.unknown !== undefined) copy.unknown = attempt.unknown;
	return copy;
}

/** The events that a lease may end with. */
type LeaseEnding = { [T in EventType]: "renewals" extends keyof EventDraft<T> ? T : never }[EventType];

/** An event about a lease that just ended. */
export function leaseEvent<T extends LeaseEnding>(type: T, record: ExecutionRecord): EventDraft<T> {
	const event: { type: T; epoch?: number; renewals?: number } = { type };
	if (record.lease) {
		event.epoch = record.lease.epoch;
		if (record.lease.renewals) event.renewals = record.lease.renewals;
	}
	return event as EventDraft<T>;
}

const attemptEndOf: Record<Exclude<TerminalOutcome, "none">, AttemptEnd> = {
	success: "ended_success",
	failed: "ended_failure",
	cancelled: "ended_cancelled",
	expired: "ended_cancelled",
	skipped: "ended_cancelled",
};

/** The changes that end an execution, whether it is running or not. */
export function ending(
	record: ExecutionRecord,
	outcome: Exclude<TerminalOutcome, "none">,
	now: number,
	by: LeaseEnd["by"],
	reply?: Record<string, unknown>,
): Partial<ExecutionRecord> {
	const changes: Partial<ExecutionRecord> = ended(outcome, record.attempt !== null);
	takeLease(changes, record, now, by, reply);
	endAttemptIn(changes, record, attemptEndOf[outcome], now);
	changes.delayUntil = 0;
	changes.completedAt = now;
	changes.grant = null;
	changes.hold = null;
	changes.blockedOn = "";
	changes.turn = 0;
	changes.suspension = null;
	changes.kept = null;
	changes.blockingDetail = "";
	changes.blockedAt = 0;
	return changes;
}

/** The changes that end an execution whose cancel was asked for, and the event that tells of it. */
export function cancellation(
	record: ExecutionRecord,
	by: LeaseEnd["by"],
	{ now }: Deed,
): { changes: Partial<ExecutionRecord>; event: EventDraft<"cancelled"> } {
	const { deadlineAt: _, ...asked } = record.cancel ?? { source: "operator", requestedAt: now };
	const changes = ending(record, "cancelled", now, by, { publicState: "cancelled" });
	changes.cancel = asked;
	changes.failure = null;
	const event = leaseEvent("cancelled", record);
	event.source = asked.source;
	if (asked.reason !== undefined) event.reason = asked.reason;
	return { changes, event };
}
