import { type Fence, fenceAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { amendExecution, executionKey, type Progress } from "../records/execution.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface ProgressCommand extends Target {
	op: "progress";
	fence?: Fence;
	progress: Progress;
}

export type ProgressOutcome = Outcome<{ progress: Progress }>;

/** No transition and so no event; what is not given stays. */
export function progress(tx: Tx, command: ProgressCommand): ProgressOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "progress");
	if (answer) return answer as ProgressOutcome;
	const next = { ...record.progress, ...command.progress };
	tx.put(executionKey(record.id), amendExecution(record, { progress: next }));
	return { ok: true, progress: next };
}
