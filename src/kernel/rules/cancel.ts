import { cancellation, type Deed } from "../changing.ts";
import { type Fence, fenceAnswer, notActive } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { amendExecution, type Cancel, type ExecutionRecord, type LeaseEnd } from "../records/execution.ts";
import type { PublicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface CancelCommand extends Target {
	op: "cancel";
	/** Given by the holder; an operator has none. */
	fence?: Fence;
	reason?: string;
	mode: "graceful" | "force";
	graceMs: number;
	actor: string;
}

export type CancelOutcome = Outcome<{ publicState: PublicState; cancelRequested?: true }>;

export function cancel(tx: Tx, command: CancelCommand, now: number): CancelOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const deed = { now, actor: command.actor };
	if (command.fence) {
		const answer = fenceAnswer(record, command.fence, "cancel");
		if (answer) return answer as CancelOutcome;
	} else if (record.terminalOutcome === "cancelled") {
		return { ok: true, publicState: "cancelled" };
	} else if (record.lifecyclePhase === "terminal") {
		return notActive(record);
	}

	const request: Cancel = {
		source: command.fence ? "holder" : "operator",
		requestedAt: now,
		...(command.reason === undefined ? undefined : { reason: command.reason }),
	};
	const atOnce = command.mode === "force" || command.fence !== undefined || !record.lease;
	if (atOnce) {
		// Whoever asked first is the one who is remembered; a later force only ends the wait.
		return endCancelled(tx, record.cancel ? record : amendExecution(record, { cancel: request }), "cancel", deed);
	}
	if (record.cancel) return { ok: true, publicState: "active", cancelRequested: true };
	transition(tx, record, { cancel: { ...request, deadlineAt: now + command.graceMs } }, deed, {
		type: "cancel_requested",
		source: request.source,
		...(request.reason === undefined ? undefined : { reason: request.reason }),
		deadlineAt: now + command.graceMs,
	});
	return { ok: true, publicState: "active", cancelRequested: true };
}

/** Ends an execution whose cancel was asked for, at whichever moment the asking takes effect. */
export function endCancelled(
	tx: Tx,
	record: ExecutionRecord,
	by: LeaseEnd["by"],
	deed: Deed,
): { ok: true; publicState: "cancelled" } {
	const { changes, event } = cancellation(record, by, deed);
	transition(tx, record, changes, deed, event);
	return { ok: true, publicState: "cancelled" };
}
