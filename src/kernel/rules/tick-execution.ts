import { endAdmission } from "../admission/admitting.ts";
import { type Deed, endAttemptIn, ending, leaseEvent, takeLease } from "../changing.ts";
import { DEFAULT_MAX_RECLAIMS } from "../policy.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { removeExecution } from "../removing.ts";
import { eligible } from "../state.ts";
import { goOnReplaying, timeOut } from "../suspension/timing-out.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import { type Duty, timersOf } from "../timers.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";
import { endAttempt } from "./fail.ts";
import { lapseGrant } from "./grant.ts";

const MAX_LEASE_GRACE_MS = 10_000;

/** Whatever was due on an execution, decided by the record. */
export function tickExecution(tx: Tx, command: TickCommand, now: number): TickOutcome {
	const record = tx.get(executionKey(command.key));
	if (!record) return { ok: true };
	let again: number | undefined;
	const timers = timersOf(record);
	for (const { duty, at } of timers) {
		const due = duty === "lease_expiry" ? Math.max(at, renewalChanceEnds(record, command.writableSince)) : at;
		if (due <= now) {
			perform(tx, record, duty, command.jitter, { now, actor: duty });
			return { ok: true, duty };
		}
		// Only what is held back although its time has come: for the rest the index knows when to ask.
		if (at <= now) again = Math.min(again ?? due, due);
	}
	if (again !== undefined) return { ok: true, again };
	const [first] = timers;
	return first ? { ok: true, early: first.at } : { ok: true };
}

/** After a partition could not be written, holders that were unable to renew come first. */
function renewalChanceEnds(record: ExecutionRecord, writableSince: number): number {
	return record.lease ? writableSince + Math.min(record.lease.ttlMs / 3, MAX_LEASE_GRACE_MS) : 0;
}

function perform(tx: Tx, record: ExecutionRecord, duty: Duty, jitter: number, deed: Deed): void {
	const { now } = deed;
	switch (duty) {
		case "retention_trimmer":
			return removeExecution(tx, record, deed);
		case "execution_deadline":
			return expire(tx, record, "deadline exceeded", deed);
		case "queue_timeout":
			return expire(tx, record, "queue timeout exceeded", deed);
		case "cancel_grace":
			endCancelled(tx, record, "cancel", deed);
			return;
		case "attempt_timeout":
			if (record.cancel) endCancelled(tx, record, "timeout", deed);
			else {
				const reason = `attempt exceeded timeouts.attemptMs (${record.policy.timeouts?.attemptMs})`;
				endAttempt(tx, record, { reason, category: "timeout" }, jitter, "timeout", deed);
			}
			return;
		case "lease_expiry":
			return lapse(tx, record, deed);
		case "delayed_promoter":
			transition(tx, record, { ...eligible(record.attemptState), delayUntil: 0, eligibleAt: now }, deed, {
				type: "eligible",
			});
			return;
		case "key_expiry":
		case "request_expiry":
		case "worker_expiry":
		case "grant_memory":
		case "ticket_check":
		case "lane_copies":
		case "budget_reset":
		case "budget_removal":
		case "quota_removal":
		case "breach":
		case "release":
		case "outbox":
		case "hold_memory":
		case "turn_memory":
		case "pending_waitpoint_expiry":
		case "secret_removal":
		case "flow_builder":
		case "dependency_resolver":
		case "edge_cancel":
		case "flow_cancel":
		case "child_cancel":
			return;
		case "suspension_timeout":
			return timeOut(tx, record, deed);
		case "suspension_replay":
			return goOnReplaying(tx, record, deed);
		case "grant_expiry":
			return lapseGrant(tx, record, deed);
		case "admission_repair":
			return endAdmission(tx, record, deed);
	}
}

function expire(tx: Tx, record: ExecutionRecord, reason: string, deed: Deed): void {
	const changes = ending(record, "expired", deed.now, "deadline");
	changes.failure = { reason, category: "expired" };
	const event = leaseEvent("expired", record);
	event.reason = reason;
	transition(tx, record, changes, deed, event);
}

/** Lost work returns by itself, as often as `maxReclaims` allows. */
function lapse(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { now } = deed;
	if (record.cancel) {
		endCancelled(tx, record, "expired", deed);
		return;
	}
	const max = record.policy.maxReclaims ?? DEFAULT_MAX_RECLAIMS;
	const reclaims = record.reclaims + 1;
	const lapsed = leaseEvent("lease_expired", record);
	lapsed.leaseId = record.lease?.id;
	let changes: Partial<ExecutionRecord> = eligible("attempt_interrupted");
	takeLease(changes, record, now, "expired");
	endAttemptIn(changes, record, "interrupted_reclaimed", now);
	changes.reclaims = reclaims;
	if (reclaims <= max) {
		changes.eligibleAt = now;
		transition(tx, record, changes, deed, lapsed);
		return;
	}
	const { attempt } = changes;
	const failure = { reason: "max_reclaims_exceeded", category: "max_reclaims_exceeded" };
	changes = ending(record, "failed", now, "expired");
	// Why stays with the attempt too: a replay forgets it of the execution, but not whoever was told of this end.
	if (attempt) changes.attempt = { ...attempt, failure };
	changes.reclaims = reclaims;
	changes.failure = failure;
	transition(tx, record, changes, deed, lapsed, { type: "failed", ...failure });
}
