import { type Refusal, refuse } from "../outcome.ts";
import { type FlowRecord, flowKey } from "../records/flow.ts";
import { isWithin } from "../target.ts";
import type { Tx } from "../tx.ts";

/** What a command about one flow names. */
export interface FlowTarget {
	flowId: string;
	/** Set for a caller bound to a namespace: flows of any other do not exist for it. */
	namespace?: string;
}

/** The flow a command is about; undefined when there is none for this caller, for whatever reason. */
export function findFlow(tx: Tx, { flowId, namespace }: FlowTarget): FlowRecord | undefined {
	const flow = tx.get(flowKey(flowId));
	return flow && isFlowFor(flow, namespace) ? flow : undefined;
}

/** Whether a flow exists as far as a caller can tell: not before it is whole, nor once it is being removed. */
export const isFlowFor = (flow: FlowRecord, namespace: string | undefined): boolean =>
	!flow.removing && flow.buildUntil === 0 && isWithin(flow.namespace, namespace);

export const flowNotFound = ({ flowId }: FlowTarget): Refusal => refuse("flow_not_found", { flowId });
