import type { EventBody } from "./events.ts";
import type { ExecutionRecord, LeaseEnd } from "./records/execution.ts";
import type { OwnershipState } from "./state.ts";

/** What a reader is told beyond the stored fields. */

/** A lease that has run out is shown as such although only its tick will end it. */
export function ownershipAt(record: ExecutionRecord, now: number): OwnershipState {
	return record.lease && record.lease.expiresAt <= now ? "lease_expired" : record.ownershipState;
}

/** Why it is not running, in words; empty when it runs or has ended. */
export function describeBlocking(record: ExecutionRecord): string {
	if (record.blockingDetail) return record.blockingDetail;
	const until = record.delayUntil ? new Date(record.delayUntil).toISOString() : "";
	switch (record.blockingReason) {
		case "waiting_for_worker":
			return `waiting for a worker on lane ${record.lane}`;
		case "waiting_for_delay":
			return `delayed until ${until}`;
		case "waiting_for_retry_backoff":
			return `retry ${record.retries} at ${until} after: ${record.failure?.reason ?? "a failure"}`;
		case "waiting_for_resume_delay":
			return `resumes at ${until}`;
		default:
			return "";
	}
}

/** What the holder of a lease must hear of at once, and which instance that is. */
export interface HolderNotice {
	type: "cancel_requested" | "lease_lost";
	instanceId: string;
	executionId: string;
	leaseId: string;
	epoch: number;
	/** The caller's words for a cancel; else how the lease ended: expired, revoked, timeout, deadline, cancel. */
	reason: string;
}

/** How a lease ended, if this event ended one. `record` is as the event left it. */
export function leaseEndOf(event: EventBody, { lastLease }: ExecutionRecord): LeaseEnd["by"] | undefined {
	return event.type !== "claimed" && lastLease && event.epoch === lastLease.epoch ? lastLease.by : undefined;
}

/** The notice an event means for a holder; none for what the holder did itself. `record` is as the event left it. */
export function noticeFor(event: EventBody, record: ExecutionRecord): HolderNotice | undefined {
	const { lease, lastLease, attempt } = record;
	if (event.type === "cancel_requested" && lease) {
		return {
			type: "cancel_requested",
			instanceId: lease.instanceId,
			executionId: record.id,
			leaseId: lease.id,
			epoch: lease.epoch,
			reason: record.cancel?.reason ?? "cancel requested",
		};
	}
	const ended = leaseEndOf(event, record);
	if (!ended || !lastLease || !attempt || event.actor === attempt.instanceId) return undefined;
	return {
		type: "lease_lost",
		instanceId: attempt.instanceId,
		executionId: record.id,
		leaseId: lastLease.id,
		epoch: lastLease.epoch,
		reason: ended,
	};
}
