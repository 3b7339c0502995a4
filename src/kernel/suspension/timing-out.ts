import { type Deed, ending } from "../changing.ts";
import { makeId, trustedSlot } from "../ids.ts";
import { amendExecution, type ExecutionRecord, partsOf } from "../records/execution.ts";
import { makeSignal, signalKey } from "../records/signal.ts";
import { type SuspensionRecord, suspensionKey } from "../records/suspension.ts";
import { suspended } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { satisfiedBy } from "./condition.ts";
import { replayEarly } from "./early-signals.ts";
import { currentSuspension, endSuspension } from "./ending.ts";
import { resume, satisfy } from "./resuming.ts";

/** What a worker is told in place of the signal it waited for. */
export const TIMEOUT_SIGNAL = "timeout";

/** Stands for the leaf that no condition has: a timeout counts for the suspension as a whole. */
export const NO_LEAF = -1;

/** The timeout of a suspension has come. */
export function timeOut(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const suspension = currentSuspension(tx, record);
	if (!suspension || !record.suspension) return;
	const reason = `suspension timed out after ${deed.now - suspension.since} ms (${suspension.reason})`;
	switch (record.suspension.timeoutBehavior ?? suspension.timeoutBehavior) {
		case "resume":
			return resumeByTimeout(tx, record, suspension, deed);
		case "escalate":
			return escalate(tx, record, suspension, deed);
		case "cancel": {
			const changes = ending(record, "cancelled", deed.now, "timeout");
			changes.cancel = { source: "timeout", requestedAt: deed.now, reason };
			changes.failure = null;
			endSuspension(tx, record, "timeout", deed.now);
			transition(tx, record, changes, deed, { type: "cancelled", source: "timeout", reason });
			return;
		}
		case "expire": {
			const changes = ending(record, "expired", deed.now, "timeout");
			changes.failure = { reason, category: "expired" };
			endSuspension(tx, record, "timeout", deed.now);
			transition(tx, record, changes, deed, { type: "expired", reason });
			return;
		}
		case "fail": {
			const failure = { reason, category: "timeout" };
			const changes = ending(record, "failed", deed.now, "timeout");
			changes.failure = failure;
			if (changes.attempt) changes.attempt.failure = failure;
			endSuspension(tx, record, "timeout", deed.now);
			transition(tx, record, changes, deed, { type: "failed", ...failure });
		}
	}
}

function resumeByTimeout(tx: Tx, record: ExecutionRecord, suspension: SuspensionRecord, deed: Deed): void {
	const { id, suspension: current } = record;
	const before = partsOf(record);
	const number = before.signals + 1;
	const uuid = suspension.id.slice("su_".length, suspension.id.lastIndexOf("_"));
	const told = makeSignal({
		id: makeId("sg", uuid, trustedSlot(id)),
		name: TIMEOUT_SIGNAL,
		source: { type: "system", identity: "suspension_timeout" },
		at: deed.now,
		effect: "resumed",
		suspension: current?.number ?? 0,
		leaves: [NO_LEAF],
	});
	tx.put(signalKey(id, number), told);
	// Nobody sent it, so it does not count among those that may be sent.
	const parts = { ...before, signals: number, signalsBefore: before.signalsBefore + 1 };
	resume(tx, amendExecution(record, { parts }), suspension, { by: "timeout", timeoutSignal: number }, deed);
}

/** It stays as it is, and nothing but a signal or an operator ends it from now on. */
function escalate(tx: Tx, record: ExecutionRecord, { id, reason: since }: SuspensionRecord, deed: Deed): void {
	const { suspension } = record;
	if (!suspension) return;
	const reason = "paused_by_operator";
	const changes: Partial<ExecutionRecord> = suspended(reason);
	changes.suspension = { ...suspension, isEscalated: true };
	changes.blockingDetail = `${since} timed out; an operator is to decide`;
	changes.blockedAt = deed.now;
	transition(tx, record, changes, deed, { type: "blocked", reason, suspensionId: id, detail: changes.blockingDetail });
}

/** Goes on with signals that came before the suspension, of which there were many. */
export function goOnReplaying(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const current = currentSuspension(tx, record);
	if (!current || !record.suspension) return;
	const { number } = record.suspension;
	const ids = current.waitpoints.map(({ id }) => id);
	const { suspension, leaves, isUnfinished } = replayEarly(tx, record, number, current, ids);
	const holding = leaves ?? satisfiedBy(suspension.condition, suspension.counts);
	if (holding) {
		satisfy(tx, record, suspension, holding, deed);
		return;
	}
	if (suspension !== current) tx.put(suspensionKey(record.id, number), suspension);
	if (isUnfinished) {
		transition(tx, record, {}, deed);
		return;
	}
	const { isReplaying: _, ...rest } = record.suspension;
	transition(tx, record, { suspension: rest }, deed);
}
