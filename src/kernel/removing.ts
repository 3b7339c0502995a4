import { leaveLedgers } from "./admission/returning.ts";
import type { Deed } from "./changing.ts";
import { keepEnd } from "./children/families.ts";
import { removeParts } from "./parts.ts";
import { detailBlobKey } from "./payload.ts";
import { attemptKey } from "./records/attempt.ts";
import { type Attempt, amendExecution, type ExecutionRecord, executionKey } from "./records/execution.ts";
import { idempotencyKeyKey } from "./records/idempotency-key.ts";
import { LINKS_PER_PAGE, linksKey } from "./records/links.ts";
import { amend } from "./records/record.ts";
import type { Tx } from "./tx.ts";

/** Attempts, and parts, removed in one step; the rest follows in later ticks, so no unit grows with history. */
const REMOVALS_PER_STEP = 100;

/**
 * Removes every trace of an ended execution. The first step hides it and frees its idempotency key; attempts and parts go
 * from the newest down, the record itself last, so whatever is left always says what is still to be removed.
 */
export function removeExecution(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const left = record.attempt?.index ?? 0;
	const step = Math.min(left, REMOVALS_PER_STEP);
	const keys = Array.from({ length: step }, (_, n) => attemptKey(record.id, left - 1 - n));
	tx.expect(keys);
	for (const key of keys) {
		dropBytes(tx, record.id, tx.get(key)?.attempt);
		tx.remove(key);
	}
	const parts = record.parts && removeParts(tx, record, record.parts, REMOVALS_PER_STEP, deed);
	if (!record.removing) hide(tx, record, deed);
	const hasLinks = record.member?.hasLinks === true && !removeLinks(tx, record.id);
	if (step === left && !parts && !hasLinks) {
		tx.remove(executionKey(record.id));
		return;
	}
	const attempt = record.attempt && { ...record.attempt, index: left - step };
	tx.put(executionKey(record.id), amendExecution(record, { removing: true, attempt, parts }));
}

/** Removes the edges of a member, the last pages first; whether none is left. */
function removeLinks(tx: Tx, executionId: string): boolean {
	const first = tx.getReadable(linksKey(executionId));
	if (!first) return true;
	const pages = Math.max(1, Math.ceil(Math.max(first.outs, first.ins) / LINKS_PER_PAGE));
	const kept = Math.max(0, pages - REMOVALS_PER_STEP);
	for (let page = pages - 1; page >= kept; page--) tx.remove(linksKey(executionId, page));
	if (kept === 0) return true;
	const most = kept * LINKS_PER_PAGE;
	tx.put(linksKey(executionId), amend(first, { outs: Math.min(first.outs, most), ins: Math.min(first.ins, most) }));
	return false;
}

/** Hides an execution whatever its state; its own timer removes it. */
export function beginRemoval(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	hide(tx, record, deed);
	tx.put(executionKey(record.id), amendExecution(record, { removing: true }));
}

function hide(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	if (record.input?.ref) tx.removeBlob(record.input.ref);
	dropBytes(tx, record.id, record.attempt);
	if (record.idempotencyKey) {
		const key = idempotencyKeyKey(record.namespace, record.idempotencyKey);
		// The key may by now belong to a later execution.
		if (tx.get(key)?.executionId === record.id) tx.remove(key);
	}
	if (record.child) keepEnd(tx, record);
	leaveLedgers(tx, record, deed.now);
	// Nobody has heard of what was given up before its flow was whole.
	if (record.member?.isHidden) return;
	tx.forget(record);
	tx.emit({
		namespace: record.namespace,
		executionId: record.id,
		...(record.flowId ? { flowId: record.flowId } : undefined),
		at: deed.now,
		body: { seq: record.events + 1, type: "deleted", actor: deed.actor },
	});
}

function dropBytes(tx: Tx, executionId: string, attempt: Attempt | null | undefined): void {
	if (attempt?.result?.ref) tx.removeBlob(attempt.result.ref);
	const epoch = attempt?.failure?.detailEpoch;
	if (epoch !== undefined) tx.removeBlob(detailBlobKey(executionId, epoch));
}
