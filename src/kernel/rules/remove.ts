import { leaveLedgers } from "../admission/returning.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { removeParts } from "../parts.ts";
import { attemptKey } from "../records/attempt.ts";
import { type Attempt, amendExecution, type ExecutionRecord, executionKey } from "../records/execution.ts";
import { idempotencyKeyKey } from "../records/idempotency-key.ts";
import { publicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Deed } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface DeleteCommand extends Target {
	op: "delete";
	actor: string;
}

export type DeleteOutcome = Outcome<{ deleted: true }>;

/** Attempts, and parts, removed in one step; the rest follows in later ticks, so no unit grows with history. */
const REMOVALS_PER_STEP = 100;

export function remove(tx: Tx, command: DeleteCommand, now: number): DeleteOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	if (record.lifecyclePhase !== "terminal") {
		return refuse("execution_not_terminal", { executionId: record.id, publicState: publicState(record) });
	}
	removeExecution(tx, record, { now, actor: command.actor });
	return { ok: true, deleted: true };
}

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
		dropResult(tx, tx.get(key)?.attempt);
		tx.remove(key);
	}
	const parts = record.parts && removeParts(tx, record, record.parts, REMOVALS_PER_STEP);
	if (!record.removing) hide(tx, record, deed);
	if (step === left && !parts) {
		tx.remove(executionKey(record.id));
		return;
	}
	const attempt = record.attempt && { ...record.attempt, index: left - step };
	tx.put(executionKey(record.id), amendExecution(record, { removing: true, attempt, parts }));
}

function hide(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	if (record.input?.ref) tx.removeBlob(record.input.ref);
	dropResult(tx, record.attempt);
	if (record.idempotencyKey) {
		const key = idempotencyKeyKey(record.namespace, record.idempotencyKey);
		// The key may by now belong to a later execution.
		if (tx.get(key)?.executionId === record.id) tx.remove(key);
	}
	leaveLedgers(tx, record, deed.now);
	tx.forget(record);
	tx.emit({
		namespace: record.namespace,
		executionId: record.id,
		...(record.flowId ? { flowId: record.flowId } : undefined),
		at: deed.now,
		body: { seq: record.events + 1, type: "deleted", actor: deed.actor },
	});
}

function dropResult(tx: Tx, attempt: Attempt | null | undefined): void {
	if (attempt?.result?.ref) tx.removeBlob(attempt.result.ref);
}
