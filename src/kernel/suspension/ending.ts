import type { ExecutionRecord } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import { type SuspensionEnd, type SuspensionRecord, suspensionKey } from "../records/suspension.ts";
import type { Tx } from "../tx.ts";
import { leaveWaitpoints } from "./waitpoints.ts";

/** The record of the suspension an execution is in. */
export const currentSuspension = (tx: Tx, { id, suspension }: ExecutionRecord): SuspensionRecord | undefined =>
	suspension ? tx.get(suspensionKey(id, suspension.number)) : undefined;

/** A suspension is over, and so are its waitpoints. What is over already stays as it ended. */
export function endSuspension(
	tx: Tx,
	execution: ExecutionRecord,
	endedBy: Exclude<SuspensionEnd, "">,
	now: number,
	changes: Partial<SuspensionRecord> = {},
): void {
	const { suspension } = execution;
	const record = currentSuspension(tx, execution);
	if (!suspension || !record || record.endedAt > 0) return;
	tx.put(suspensionKey(execution.id, suspension.number), amend(record, { ...changes, endedAt: now, endedBy }));
	leaveWaitpoints(tx, record.waitpoints, endedBy === "execution_ended", now);
}
