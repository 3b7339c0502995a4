import { type Deed, ending } from "../changing.ts";
import type { EventDraft } from "../events.ts";
import { type ExecutionRecord, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import type { SuspensionEnd, SuspensionRecord } from "../records/suspension.ts";
import { delayed, eligible, type PublicState } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endSuspension } from "./ending.ts";
import { handing } from "./handing-over.ts";

/** How a budget that paused work is answered. */
export const BUDGET_APPROVE = "approve";
export const BUDGET_REJECT = "reject";

/** The condition holds: the execution goes on, or, if a budget had paused it and somebody said no, it ends. */
export function satisfy(
	tx: Tx,
	record: ExecutionRecord,
	suspension: SuspensionRecord,
	leaves: readonly number[],
	deed: Deed,
	signalled?: EventDraft,
): PublicState {
	const { counts, counted, countedBytes, first } = suspension;
	const ended = { counts, counted, countedBytes, first, satisfiedBy: leaves };
	const budget = record.suspension?.budget;
	// The condition of a pause by a budget is written here: its second leaf is the no.
	if (budget !== undefined && !leaves.includes(0)) {
		endSuspension(tx, record, "satisfied", deed.now, ended);
		const failure = { reason: `budget ${budget}: to go on was rejected`, category: "budget_exceeded" };
		const changes = ending(record, "failed", deed.now, "revoked");
		changes.failure = failure;
		if (changes.attempt) changes.attempt.failure = failure;
		const event: EventDraft = { type: "failed", ...failure };
		if (signalled) transition(tx, record, changes, deed, signalled, event);
		else transition(tx, record, changes, deed, event);
		return "failed";
	}
	return resume(tx, record, suspension, { by: "satisfied", ended, ...(signalled ? { signalled } : undefined) }, deed);
}

interface Resuming {
	by: Exclude<SuspensionEnd, "" | "execution_ended">;
	ended?: Partial<SuspensionRecord>;
	/** The number of the signal that stands for a timeout. */
	timeoutSignal?: number;
	/** What an operator said. */
	reason?: string;
	/** The event of the signal that led to it. */
	signalled?: EventDraft;
}

/** The same attempt goes on with the next claim, at once or after the delay that was asked for. */
export function resume(
	tx: Tx,
	record: ExecutionRecord,
	suspension: SuspensionRecord,
	{ by, ended, timeoutSignal, reason, signalled }: Resuming,
	deed: Deed,
): PublicState {
	const { now } = deed;
	const { resumeDelayMs } = suspension;
	endSuspension(tx, record, by, now, ended);
	const changes: Partial<ExecutionRecord> =
		resumeDelayMs > 0 ? delayed("waiting_for_resume_delay", "attempt_interrupted") : eligible("attempt_interrupted");
	changes.suspension = null;
	changes.parts = handing(partsOf(record), amend(suspension, { ...ended, endedBy: by }), timeoutSignal);
	changes.blockingDetail = "";
	changes.blockedAt = 0;
	changes.blockedOn = "";
	if (resumeDelayMs > 0) changes.delayUntil = now + resumeDelayMs;
	else changes.eligibleAt = now;
	const event: EventDraft = { type: "resumed", suspensionId: suspension.id, by };
	if (reason !== undefined) event.reason = reason;
	if (resumeDelayMs > 0) event.delayUntil = now + resumeDelayMs;
	if (signalled) transition(tx, record, changes, deed, signalled, event);
	else transition(tx, record, changes, deed, event);
	return resumeDelayMs > 0 ? "delayed" : "waiting";
}
