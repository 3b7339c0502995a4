import type { ExecutionRecord } from "../records/execution.ts";
import { type GuardName, slotOfGuard } from "../records/guard.ts";
import { makeOutbox, type OutboxRecord, outboxKey } from "../records/outbox.ts";
import type { Tx } from "../tx.ts";
import { guardsOf } from "./guards.ts";
import { giveBack } from "./holding.ts";
import { forgetSpender } from "./ledger.ts";

/** Whoever leaves a message sends it at once; should that one be gone, it is sent this much later. */
const SEND_AFTER_MS = 2000;

/**
 * An execution's hold is over: all that was given for it goes back, in the same step where it lives beside the execution,
 * else by the outbox. Only now, when nothing can come to run under that hold any more.
 */
export function returnHold(
	tx: Tx,
	record: ExecutionRecord,
	now: number,
	guards: readonly GuardName[] = guardsOf(record),
): void {
	const { id: executionId, hold, lease } = record;
	if (!hold) return;
	for (const guard of guards) {
		if (tx.isHere(slotOfGuard(guard))) giveBack(tx, guard, hold.id, !lease, now);
		else post(tx, guard, { executionId, holdId: hold.id, message: lease ? "used" : "unused" }, hold.id, now);
	}
}

/** An execution goes: what it spent is no longer told by its name. */
export function leaveLedgers(tx: Tx, record: ExecutionRecord, now: number): void {
	for (const guard of guardsOf(record)) {
		if (guard.kind !== "budget") continue;
		if (tx.isHere(slotOfGuard(guard))) forgetSpender(tx, guard, record.id);
		else post(tx, guard, { executionId: record.id, message: "removed" }, record.id, now);
	}
}

function post(tx: Tx, guard: GuardName, about: Partial<OutboxRecord>, subject: string, now: number): void {
	const key = outboxKey(guard, subject);
	tx.getFresh(key);
	tx.put(key, makeOutbox({ ...guard, ...about, sendAt: now + SEND_AFTER_MS }));
}
