import { type ExecutionRecord, eligibleSince } from "./records/execution.ts";
import type { FlowRecord } from "./records/flow.ts";
import { isQueued } from "./state.ts";

/** What the engine does on its own; each is a name in metrics and an event's actor. */
export const DUTIES = [
	"lease_expiry",
	"grant_expiry",
	"admission_repair",
	"delayed_promoter",
	"attempt_timeout",
	"execution_deadline",
	"queue_timeout",
	"cancel_grace",
	"retention_trimmer",
	"key_expiry",
	"request_expiry",
	"worker_expiry",
	"grant_memory",
	"ticket_check",
	"lane_copies",
	"budget_reset",
	"budget_removal",
	"quota_removal",
	"breach",
	"release",
	"outbox",
	"hold_memory",
	"turn_memory",
	"suspension_timeout",
	"suspension_replay",
	"pending_waitpoint_expiry",
	"secret_removal",
	"flow_builder",
	"dependency_resolver",
	"edge_cancel",
	"flow_cancel",
	"child_cancel",
] as const;

export type Duty = (typeof DUTIES)[number];

export interface Timer {
	duty: Duty;
	at: number;
}

/**
 * Every timer running on an execution, earliest first; timers due at the same moment fire in the order written here. The
 * due index is the first of these, and the tick rule asks this same list what was due: there is no second opinion.
 */
export function timersOf(record: ExecutionRecord): Timer[] {
	if (record.removing) return [{ duty: "retention_trimmer", at: 0 }];
	if (record.member?.isHidden) return [];
	if (record.lifecyclePhase === "terminal") {
		// A member goes with its flow.
		if (record.flowId !== "") return [];
		return record.retentionMs > 0 ? [{ duty: "retention_trimmer", at: record.completedAt + record.retentionMs }] : [];
	}
	const timers: Timer[] = [];
	const { attemptMs, queueMs, deadlineMs } = record.policy.timeouts ?? {};
	if (deadlineMs !== undefined)
		timers.push({ duty: "execution_deadline", at: (record.deadlineFrom || record.createdAt) + deadlineMs });
	if (record.lease) {
		if (record.cancel?.deadlineAt !== undefined) timers.push({ duty: "cancel_grace", at: record.cancel.deadlineAt });
		if (attemptMs !== undefined) {
			timers.push({ duty: "attempt_timeout", at: record.lease.acquiredAt + attemptMs - (record.attempt?.usedMs ?? 0) });
		}
		timers.push({ duty: "lease_expiry", at: record.lease.expiresAt });
	} else {
		const { suspension } = record;
		if (suspension?.isReplaying) timers.push({ duty: "suspension_replay", at: 0 });
		else if (suspension?.timeoutAt !== undefined && !suspension.isEscalated)
			timers.push({ duty: "suspension_timeout", at: suspension.timeoutAt });
		if (record.hold && record.hold.until > 0) timers.push({ duty: "admission_repair", at: record.hold.until });
		if (record.grant) timers.push({ duty: "grant_expiry", at: record.grant.expiresAt });
		if (record.eligibilityState === "not_eligible_until_time")
			timers.push({ duty: "delayed_promoter", at: record.delayUntil });
		if (queueMs !== undefined && isQueued(record))
			timers.push({ duty: "queue_timeout", at: eligibleSince(record) + queueMs });
	}
	return timers.length > 1 ? timers.sort((a, b) => a.at - b.at) : timers;
}

/** Every timer running on a flow, in the order they fire. */
export function flowTimersOf(flow: FlowRecord): Timer[] {
	const { retentionMs, endedAt } = flow;
	if (flow.removing) return [{ duty: "retention_trimmer", at: 0 }];
	if (flow.buildUntil > 0) return [{ duty: "flow_builder", at: flow.buildUntil }];
	if (flow.unshown > 0) return [{ duty: "flow_builder", at: 0 }];
	if (flow.cancelFrom > 0) return [{ duty: "flow_cancel", at: 0 }];
	if (flow.sealFrom > 0 || flow.reviewFrom > 0) return [{ duty: "dependency_resolver", at: 0 }];
	return endedAt > 0 && retentionMs > 0 ? [{ duty: "retention_trimmer", at: endedAt + retentionMs }] : [];
}
