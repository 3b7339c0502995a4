import { type Outcome, refuse } from "../outcome.ts";
import { type PublicState, publicState } from "../state.ts";
import { currentSuspension } from "../suspension/ending.ts";
import { resume as resumeNow } from "../suspension/resuming.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface ResumeCommand extends Target {
	op: "resume";
	reason?: string;
	actor: string;
}

export type ResumeOutcome = Outcome<{ publicState: PublicState; suspensionId: string }>;

/** An operator lets suspended work go on, whatever it waits for. */
export function resume(tx: Tx, command: ResumeCommand, now: number): ResumeOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const suspension = currentSuspension(tx, record);
	if (!suspension)
		return refuse("execution_not_suspended", { executionId: record.id, publicState: publicState(record) });
	const { reason, actor } = command;
	const how = reason === undefined ? ({ by: "resumed" } as const) : ({ by: "resumed", reason } as const);
	const state = resumeNow(tx, record, suspension, how, { now, actor });
	return { ok: true, publicState: state, suspensionId: suspension.id };
}
