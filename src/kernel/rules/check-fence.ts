import { type Fence, fenceAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface CheckFenceCommand extends Target {
	op: "checkFence";
	fence?: Fence;
}

export type CheckFenceOutcome = Outcome<{ namespace: string }>;

/** Whether a worker holds an execution, for what it then does elsewhere; and whose that is. */
export function checkFence(tx: Tx, command: CheckFenceCommand): CheckFenceOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "usage");
	return (answer as CheckFenceOutcome | undefined) ?? { ok: true, namespace: record.namespace };
}
