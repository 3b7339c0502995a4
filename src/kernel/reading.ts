import type { EventBody } from "./events.ts";
import { describeGroup, waitsForGroup } from "./flows/describing.ts";
import { type Outcome, refuse } from "./outcome.ts";
import type { Payload } from "./payload.ts";
import { isClaimable } from "./placement.ts";
import type { OnHard } from "./records/budget.ts";
import { type ExecutionRecord, eligibleSince, type LeaseEnd } from "./records/execution.ts";
import type { LaneRecord, LaneState } from "./records/lane.ts";
import { isHandedAround } from "./releases.ts";
import type { WorkersFor } from "./serving.ts";
import { type BlockingReason, hasEnded, type OwnershipState, type StateFields } from "./state.ts";
import { timeText } from "./time-text.ts";

/** What a reader is told beyond the stored fields. */

/** A lease that has run out is shown as such although only its tick will end it. */
function ownershipAt(record: ExecutionRecord, now: number): OwnershipState {
	return record.lease && record.lease.expiresAt <= now ? "lease_expired" : record.ownershipState;
}

/** Work that could be claimed if its lane were not paused. Nothing is written on it, so that pausing costs nothing. */
const isHeldByLane = (record: ExecutionRecord, lane: LaneRecord): boolean =>
	lane.state === "paused" && isClaimable(record);

/** The state as readers see it; `lane` is the copy of its lane beside it. */
export function stateAt(record: ExecutionRecord, lane: LaneRecord, now: number): StateFields {
	const held = isHeldByLane(record, lane);
	return {
		lifecyclePhase: record.lifecyclePhase,
		ownershipState: ownershipAt(record, now),
		eligibilityState: held ? "blocked_by_lane_state" : record.eligibilityState,
		blockingReason: held ? "paused_by_policy" : record.blockingReason,
		terminalOutcome: record.terminalOutcome,
		attemptState: record.attemptState,
	};
}

/** What readers call the state of a lane. */
export const shownLaneState = (state: LaneState): "active" | Exclude<LaneState, "open"> =>
	state === "open" ? "active" : state;

/** Since when what blocks it does; 0 when nothing was examined. */
export const blockedSince = (record: ExecutionRecord, lane: LaneRecord): number =>
	isHeldByLane(record, lane) ? Math.max(lane.stateSince, eligibleSince(record)) : record.blockedAt;

/** Whether nothing but a worker is missing, so that it matters who is there. */
export const waitsForWorker = (record: ExecutionRecord, lane: LaneRecord): boolean =>
	isClaimable(record) && !isHeldByLane(record, lane);

/** Why it is not running, in words; empty when it runs or has ended. `workers` are those of its namespace, where known. */
export function describeBlocking(record: ExecutionRecord, lane: LaneRecord, workers?: WorkersFor): string {
	if (isHeldByLane(record, lane)) return `lane ${record.lane} is paused`;
	if (record.blockingDetail) return record.blockingDetail;
	if (record.grant) return `granted to ${record.grant.instanceId} until ${timeText(record.grant.expiresAt)}`;
	const until = record.delayUntil ? timeText(record.delayUntil) : "";
	switch (record.blockingReason) {
		case "waiting_for_worker":
			return workers?.lack ?? `waiting for a worker on lane ${record.lane}`;
		case "waiting_for_delay":
			return isHandedAround(record)
				? `its workers handed it back ${record.attempt?.releases} times in a row; kept back until ${until}`
				: `delayed until ${until}`;
		case "waiting_for_retry_backoff":
			return `retry ${record.retries} at ${until} after: ${record.failure?.reason ?? "a failure"}`;
		case "waiting_for_resume_delay":
			return `resumes at ${until}`;
		case "waiting_for_signal":
		case "waiting_for_approval":
		case "waiting_for_callback":
		case "waiting_for_tool_result":
		case "paused_by_operator":
		case "paused_by_policy":
			return describeSuspension(record);
		case "waiting_for_children":
			return record.member && waitsForGroup(record) ? describeGroup(record.member.group) : "";
		case "paused_by_flow_cancel":
			return "its flow was cancelled with flow_only, which leaves members that had not started as they are";
		default:
			return "";
	}
}

const WAITING_WORDS: Partial<Record<BlockingReason, string>> = {
	waiting_for_signal: "waiting for a signal",
	waiting_for_approval: "waiting for approval",
	waiting_for_callback: "waiting for a callback",
	waiting_for_tool_result: "waiting for a tool's result",
	paused_by_operator: "paused until an operator resumes it",
	paused_by_policy: "paused by policy",
};

function describeSuspension({ blockingReason, suspension }: ExecutionRecord): string {
	const words = WAITING_WORDS[blockingReason] ?? "suspended";
	const { timeoutAt } = suspension ?? {};
	return timeoutAt === undefined ? words : `${words} until ${timeText(timeoutAt)}`;
}

/** The result a reader may have, which only work that succeeded has. */
export function resultOf(record: ExecutionRecord): Outcome<{ result: Payload }> {
	const { id, terminalOutcome, attempt } = record;
	if (!hasEnded(record)) return refuse("result_not_ready", { executionId: id });
	const result = terminalOutcome === "success" ? attempt?.result : undefined;
	return result ? { ok: true, result } : refuse("result_not_found", { executionId: id, outcome: terminalOutcome });
}

/** What the holder of a lease must hear of at once, and which instance that is. */
export interface HolderNotice {
	type: "cancel_requested" | "lease_lost" | "budget_breach";
	instanceId: string;
	executionId: string;
	leaseId: string;
	epoch: number;
	/** Of a breach: which budget and dimension, and what becomes of the holder. */
	budget?: string;
	dimension?: string;
	action?: OnHard;
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
		if (lease.breach) return breachNotice(record);
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
	if (lastLease.breach) return { ...breachNotice(record, lastLease), instanceId: attempt.instanceId };
	return {
		type: "lease_lost",
		instanceId: attempt.instanceId,
		executionId: record.id,
		leaseId: lastLease.id,
		epoch: lastLease.epoch,
		reason: ended,
	};
}

/** What the holder of work that was admitted under a budget hears of a breach of it. */
export function breachNotice(
	{ id, lease }: ExecutionRecord,
	{ id: leaseId, epoch, breach }: Pick<LeaseEnd, "id" | "epoch" | "breach"> = lease ?? { id: "", epoch: 0 },
): HolderNotice {
	const { budget = "", dimension = "", action = "block" } = breach ?? {};
	const instanceId = lease?.instanceId ?? "";
	const reason = `budget ${budget}: ${dimension} is exhausted`;
	return { type: "budget_breach", instanceId, executionId: id, leaseId, epoch, budget, dimension, action, reason };
}
