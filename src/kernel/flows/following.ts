import type { Deed } from "../changing.ts";
import { amendExecution, type ExecutionRecord, executionKey } from "../records/execution.ts";
import { flowKey } from "../records/flow.ts";
import { hasEnded } from "../state.ts";
import type { Tx } from "../tx.ts";
import { Cascade } from "./cascade.ts";
import { endIfOver } from "./flow-end.ts";
import { FlowStep } from "./flow-step.ts";
import { obeyCancel } from "./obeying.ts";

/** Who gave it back, or made it wait, is told that it was cancelled. */
function withAnswer(tx: Tx, record: ExecutionRecord): ExecutionRecord {
	const { lastLease } = record;
	if (!lastLease?.outcome) return record;
	const answered = amendExecution(record, { lastLease: { ...lastLease, outcome: { publicState: "cancelled" } } });
	tx.put(executionKey(record.id), answered);
	return answered;
}

/**
 * What follows from a change of a member, in the same step: its end resolves its edges, and what would wait or go back to the
 * queue in a cancelled flow is treated as the cancel says. Gives the member as it is then.
 */
export function followFlow(tx: Tx, before: ExecutionRecord, next: ExecutionRecord, deed: Deed): ExecutionRecord {
	const isEnd = hasEnded(next) && !hasEnded(before);
	if (!isEnd && (hasEnded(next) || next.lifecyclePhase === "active")) return next;
	const flow = tx.get(flowKey(next.flowId));
	if (!flow || (!isEnd && !flow.cancel)) return next;
	const step = new FlowStep(tx, flow, deed);
	const cascade = new Cascade(step);
	if (isEnd) cascade.ended(next);
	else if (flow.cancel) obeyCancel(step, cascade, next, flow.cancel);
	cascade.run();
	endIfOver(step);
	step.write();
	const now = tx.get(executionKey(next.id)) ?? next;
	return isEnd || !hasEnded(now) ? now : withAnswer(tx, now);
}
