import { type Outcome, refuse } from "../outcome.ts";
import { removeExecution } from "../removing.ts";
import { publicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface DeleteCommand extends Target {
	op: "delete";
	actor: string;
}

export type DeleteOutcome = Outcome<{ deleted: true }>;

export function remove(tx: Tx, command: DeleteCommand, now: number): DeleteOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	if (record.lifecyclePhase !== "terminal") {
		return refuse("execution_not_terminal", { executionId: record.id, publicState: publicState(record) });
	}
	if (record.flowId !== "") return refuse("execution_in_flow", { executionId: record.id, flowId: record.flowId });
	removeExecution(tx, record, { now, actor: command.actor });
	return { ok: true, deleted: true };
}
