import type { ExecutionRecord } from "../records/execution.ts";
import { type GuardName, slotOfGuard } from "../records/guard.ts";
import { makeOutbox, type OutboxRecord, outboxKey } from "../records/outbox.ts";
import type { Tx } from "../tx.ts";
import { guardsOf, guardsToAsk, isKept } from "./guards.ts";
import { giveBack, lookAgain } from "./holding.ts";
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
	guards: readonly GuardName[] = guardsToAsk(record),
): void {
	const { hold, lease } = record;
	if (!hold) return;
	for (const guard of guards) giveBackAt(tx, guard, record, hold.id, !lease, now);
}

/** What an execution had and has no more goes back; slots that it keeps while it is suspended do not. */
export function returnWhatIsOver(tx: Tx, record: ExecutionRecord, next: ExecutionRecord, now: number): void {
	const { kept } = next;
	if (record.hold !== null && next.hold === null) {
		const guards = guardsToAsk(record).filter(({ kind, id }) => kind === "budget" || !isKept(kept, id));
		returnHold(tx, record, now, guards);
	}
	if (record.kept !== null && kept !== record.kept) returnKept(tx, record, kept, now);
}

function returnKept(tx: Tx, record: ExecutionRecord, still: ExecutionRecord["kept"], now: number): void {
	const { namespace, kept } = record;
	for (const { quota, holdId } of kept ?? []) {
		if (isKept(still, quota)) continue;
		giveBackAt(tx, { kind: "quota", namespace, id: quota }, record, holdId, false, now);
	}
}

function giveBackAt(
	tx: Tx,
	guard: GuardName,
	{ id: executionId }: ExecutionRecord,
	holdId: string,
	isUnused: boolean,
	now: number,
): void {
	if (tx.isHere(slotOfGuard(guard))) giveBack(tx, guard, holdId, isUnused, now);
	else post(tx, guard, { executionId, holdId, message: isUnused ? "unused" : "used" }, holdId, now);
}

/**
 * An execution that was released, because there was room for it, ends or is set aside for something else. Whoever waits behind
 * it would otherwise wait for as long as nothing else changes.
 */
export function passOnRoom(tx: Tx, record: ExecutionRecord, now: number): void {
	for (const guard of guardsOf(record)) {
		if (guard.id !== record.blockedOn) continue;
		if (tx.isHere(slotOfGuard(guard))) lookAgain(tx, guard, now);
		else post(tx, guard, { executionId: record.id, message: "passed" }, roomOf(record), now);
	}
}

/** Named like a hold, which it never had: messages of the same execution about other things have other names. */
const roomOf = ({ id }: ExecutionRecord): string => `le${id.slice("ex".length)}`;

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
