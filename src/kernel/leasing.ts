import { copyOf } from "./changing.ts";
import type { EventDraft } from "./events.ts";
import { makeId, trustedSlot } from "./ids.ts";
import { attemptKey, makeAttemptRecord } from "./records/attempt.ts";
import type { Attempt, AttemptType, ExecutionRecord, Hold } from "./records/execution.ts";
import { claimed } from "./state.ts";
import { transition } from "./transition.ts";
import type { Tx } from "./tx.ts";

/** Who gets a lease, and how long it lasts. */
export interface Leasing {
	workerId: string;
	instanceId: string;
	leaseMs: number;
	actor: string;
}

/** Makes a worker the owner of an execution. */
export function lease(
	tx: Tx,
	record: ExecutionRecord,
	{ workerId, instanceId, leaseMs, actor }: Leasing,
	uuid: string,
	now: number,
	hold: Hold | null = record.hold,
): ExecutionRecord {
	const epoch = record.epoch + 1;
	const attempt = attemptFor(tx, record, workerId, instanceId, now);
	const id = makeId("le", uuid, trustedSlot(record.id));
	const expiresAt = now + leaseMs;
	const changes: Partial<ExecutionRecord> = claimed();
	changes.attempt = attempt;
	changes.epoch = epoch;
	changes.lease = { id, epoch, ttlMs: leaseMs, acquiredAt: now, expiresAt, workerId, instanceId };
	changes.grant = null;
	if (hold) {
		if (hold.breach) changes.lease.breach = hold.breach;
		changes.hold = hold;
		changes.turn = 0;
		changes.blockedOn = "";
		changes.blockingDetail = "";
		changes.blockedAt = 0;
	}
	changes.startedAt = record.startedAt || now;
	changes.delayUntil = 0;
	const event: EventDraft = { type: "claimed", attemptType: attempt.type, leaseId: id, epoch, expiresAt, workerId };
	if (hold) event.admittedAt = hold.admittedAt;
	return transition(tx, record, changes, { now, actor }, event);
}

/** The attempt this lease runs: the one that was interrupted, or a new one, the old moving into its own record. */
function attemptFor(tx: Tx, record: ExecutionRecord, workerId: string, instanceId: string, now: number): Attempt {
	const { attempt } = record;
	if (attempt && attempt.endedAt === undefined) {
		const same = copyOf(attempt);
		same.state = "started";
		same.workerId = workerId;
		same.instanceId = instanceId;
		return same;
	}
	if (attempt) {
		const key = attemptKey(record.id, attempt.index);
		tx.getFresh(key);
		tx.put(key, makeAttemptRecord(attempt));
	}
	return {
		index: attempt ? attempt.index + 1 : 0,
		type: nextAttemptType(record),
		state: "started",
		workerId,
		instanceId,
		startedAt: now,
	};
}

function nextAttemptType(record: ExecutionRecord): AttemptType {
	switch (record.attemptState) {
		case "pending_retry_attempt":
			return "retry";
		case "pending_replay_attempt":
			return "replay";
		case "attempt_interrupted":
			return "reclaim";
		default:
			return "initial";
	}
}
