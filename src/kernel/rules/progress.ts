import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { executionKey, type Progress } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

export interface ProgressCommand {
	op: "progress";
	executionId: string;
	fence?: Fence;
	progress: Progress;
}

export type ProgressOutcome = Outcome<{ progress: Progress }>;

/** No transition and so no event; what is not given stays. */
export function progress(tx: Tx, command: ProgressCommand): ProgressOutcome {
	const record = tx.get(executionKey(command.executionId));
	if (!record || record.removing) return refuse("execution_not_found", { executionId: command.executionId });
	const answer = fenceAnswer(record, command.fence, "progress");
	if (answer) return answer as ProgressOutcome;
	const next = { ...record.progress, ...command.progress };
	tx.put(executionKey(record.id), amend(record, { progress: next }));
	return { ok: true, progress: next };
}
