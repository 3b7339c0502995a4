import { notActive } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { clampPriority } from "../priority.ts";
import { type PublicState, publicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface ChangePriorityCommand extends Target {
	op: "changePriority";
	priority: number;
	actor: string;
}

export type ChangePriorityOutcome = Outcome<{ publicState: PublicState; priority: number }>;

/** Work that waits moves in its queue at once; any other stands at its new place the next time it waits. */
export function changePriority(tx: Tx, command: ChangePriorityCommand, now: number): ChangePriorityOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	if (record.lifecyclePhase === "terminal") return notActive(record);
	const priority = clampPriority(command.priority);
	if (priority !== record.priority) {
		const deed = { now, actor: command.actor };
		transition(tx, record, { priority }, deed, { type: "priority_changed", from: record.priority, to: priority });
	}
	return { ok: true, publicState: publicState(record), priority };
}
