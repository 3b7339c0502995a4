import { cancellation, change } from "../changing.ts";
import type { EventDraft } from "../events.ts";
import { amendExecution, type Cancel, type ExecutionRecord } from "../records/execution.ts";
import type { FlowCancel } from "../records/flow.ts";
import { blocked } from "../state.ts";
import type { FlowStep } from "./flow-step.ts";

/** Hears of members that ended. */
interface Ends {
	ended(record: ExecutionRecord): void;
}

/** What the cancel of its flow means to a member that has not ended. */
export function obeyCancel(step: FlowStep, ends: Ends, record: ExecutionRecord, cancel: FlowCancel): void {
	if (cancel.policy === "flow_only") return pause(step, record);
	const isActive = record.lifecyclePhase === "active";
	if (isActive && cancel.policy === "cancel_pending") return;
	const { tx, deed } = step;
	const asked = {
		source: "flow" as const,
		requestedAt: deed.now,
		...(cancel.reason === undefined ? undefined : { reason: cancel.reason }),
	};
	if (!isActive || cancel.mode === "force") {
		const known = record.cancel ? record : amendExecution(record, { cancel: asked });
		const { changes, event } = cancellation(known, "cancel", deed);
		ends.ended(change(tx, record, changes, deed, [event]));
		return;
	}
	askToStop(step, record, asked, cancel.graceMs);
}

/** Asks whoever runs a member to stop, unless somebody has. */
export function askToStop({ tx, deed }: FlowStep, record: ExecutionRecord, asked: Cancel, graceMs: number): void {
	if (record.cancel) return;
	const { source, reason } = asked;
	const deadlineAt = deed.now + graceMs;
	const event: EventDraft = { type: "cancel_requested", source, deadlineAt };
	if (reason !== undefined) event.reason = reason;
	change(tx, record, { cancel: { ...asked, deadlineAt } }, deed, [event]);
}

/** The rest of the flow stays as it is, and runs no more. */
function pause({ tx, deed }: FlowStep, record: ExecutionRecord): void {
	if (record.lifecyclePhase !== "runnable" || record.blockingReason === "paused_by_flow_cancel") return;
	const changes: Partial<ExecutionRecord> = blocked(
		"blocked_by_operator",
		"paused_by_flow_cancel",
		record.attemptState,
	);
	changes.grant = null;
	changes.hold = null;
	changes.blockedOn = "";
	changes.turn = 0;
	changes.delayUntil = 0;
	changes.blockingDetail = "";
	changes.blockedAt = deed.now;
	change(tx, record, changes, deed, [{ type: "blocked", reason: "paused_by_flow_cancel" }]);
}
