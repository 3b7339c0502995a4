import { type Deed, endAttemptIn, ending, holder, leaseEvent, takeLease } from "../changing.ts";
import { type Fence, fenceAnswer, firstAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { detailBlobKey } from "../payload.ts";
import { type FailureReport, retryDelay } from "../policy.ts";
import type { ExecutionRecord, Failure, LeaseEnd } from "../records/execution.ts";
import { delayed, type PublicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";

export interface FailCommand extends Target, FailureReport {
	op: "fail";
	fence?: Fence;
	/** What else is told of the failure: text as UTF-8. */
	detail?: Uint8Array;
	/** A random number in 0..1 for the backoff. */
	jitter: number;
}

export type FailOutcome = Outcome<{ publicState: PublicState; retryAt?: number }>;

export function fail(tx: Tx, command: FailCommand, now: number): FailOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "fail");
	if (answer) return answer as FailOutcome;
	if (record.cancel) return endCancelled(tx, record, "fail", holder(record, now));
	return endAttempt(tx, record, command, command.jitter, "fail", holder(record, now), command.detail);
}

/** An attempt that failed, by its worker's word or by its timeout: the retry policy decides what follows. */
export function endAttempt(
	tx: Tx,
	record: ExecutionRecord,
	report: FailureReport,
	jitter: number,
	by: LeaseEnd["by"],
	deed: Deed,
	detail?: Uint8Array,
): FailOutcome {
	const { now } = deed;
	const failure: Failure = { reason: report.reason, category: report.category };
	if (detail !== undefined && record.lease) {
		failure.detailEpoch = record.lease.epoch;
		tx.putBlob({ key: detailBlobKey(record.id, record.lease.epoch), bytes: detail });
	}
	const delay = retryDelay(record.policy, record.retries, report, jitter);
	const retryAt = delay === undefined ? undefined : now + delay;
	const reply: { publicState: PublicState; retryAt?: number } =
		retryAt === undefined ? { publicState: "failed" } : { publicState: "delayed", retryAt };
	let changes: Partial<ExecutionRecord>;
	if (retryAt === undefined) changes = ending(record, "failed", now, by, reply);
	else {
		changes = delayed("waiting_for_retry_backoff", "pending_retry_attempt");
		takeLease(changes, record, now, by, reply);
		endAttemptIn(changes, record, "ended_failure", now);
		changes.retries = record.retries + 1;
		changes.delayUntil = retryAt;
	}
	changes.failure = failure;
	if (changes.attempt) changes.attempt.failure = failure;
	const event = leaseEvent(retryAt === undefined ? "failed" : "retry_scheduled", record);
	event.reason = failure.reason;
	event.category = failure.category;
	if (event.type === "retry_scheduled") event.retryAt = retryAt;
	return firstAnswer(transition(tx, record, changes, deed, event));
}
