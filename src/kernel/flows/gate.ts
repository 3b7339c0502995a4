import type { Deed } from "../changing.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { flowKey } from "../records/flow.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { followFlow } from "./following.ts";

/** Whether nobody can say what the flow of a member would have of it. */
export const isFlowUnreadable = (tx: Tx, { member, flowId }: ExecutionRecord): boolean =>
	member !== null && tx.isUnreadable(flowKey(flowId));

/** Whether the flow of a member keeps it from starting: it was cancelled, or is being removed. */
export function isHeldByFlow(tx: Tx, { member, flowId }: ExecutionRecord): boolean {
	if (member === null) return false;
	const flow = tx.getReadable(flowKey(flowId));
	return !flow || flow.cancel !== null || flow.removing;
}

/**
 * Lets a member start, if its flow does: whoever starts one has read its flow, so no cancel is overtaken. One that the
 * cancel had yet to reach is treated as that says.
 */
export function passesFlow(tx: Tx, record: ExecutionRecord, deed: Deed): boolean {
	if (record.member === null) return true;
	if (isHeldByFlow(tx, record)) {
		followFlow(tx, record, record, deed);
		return false;
	}
	const flow = tx.get(flowKey(record.flowId));
	if (flow && !flow.isStarted) tx.put(flowKey(flow.id), amend(flow, { isStarted: true }));
	return true;
}
