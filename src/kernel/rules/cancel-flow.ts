import { endIfOver } from "../flows/flow-end.ts";
import { FlowStep } from "../flows/flow-step.ts";
import { removeFlow } from "../flows/removing.ts";
import { type FlowTarget, findFlow, flowNotFound } from "../flows/target.ts";
import { type Outcome, refuse } from "../outcome.ts";
import {
	CANCEL_POLICIES,
	type CancelPolicy,
	type FlowCancel,
	type FlowRecord,
	flowKey,
	flowProgressDefaults,
	flowProgressKey,
} from "../records/flow.ts";
import type { Tx } from "../tx.ts";

export interface CancelFlowCommand extends FlowTarget {
	op: "cancelFlow";
	policy: CancelPolicy;
	mode: FlowCancel["mode"];
	graceMs: number;
	reason?: string;
	actor: string;
}

/** The flow as it is then, and how many members have not ended; `changed` is false when the cancel that is stored stays. */
export type CancelFlowOutcome = Outcome<{ flow: FlowRecord; left: number; changed: boolean }>;

const strength = (policy: CancelPolicy): number => CANCEL_POLICIES.indexOf(policy);

/** Nothing of a cancelled flow starts from then on, in whatever order its members are reached. */
export function cancelFlow(tx: Tx, command: CancelFlowCommand, now: number): CancelFlowOutcome {
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	const { policy, mode, graceMs, reason, actor } = command;
	const isWeaker = flow.cancel !== null && !isStronger(command, flow.cancel);
	const { ended } = tx.get(flowProgressKey(flow.id)) ?? flowProgressDefaults;
	const left = flow.nodes - ended;
	if (flow.outcome !== "" || isWeaker) return { ok: true, flow, left, changed: false };
	const cancel: FlowCancel = { policy, mode, graceMs, requestedAt: now, actor };
	if (reason !== undefined) cancel.reason = reason;
	const step = new FlowStep(tx, flow, { now, actor });
	const sealed = flow.isSealed ? undefined : { isSealed: true, revision: flow.revision + 1 };
	step.amend({ ...sealed, cancel, cancelFrom: flow.nodes > 0 ? 1 : 0, sealFrom: 0 });
	step.tell({ type: "flow_cancel_requested", policy, ...(reason === undefined ? undefined : { reason }) });
	endIfOver(step);
	step.write();
	return { ok: true, flow: step.flow, left, changed: true };
}

/** To force is stronger than to ask, under the same policy. */
const isStronger = (wanted: Pick<FlowCancel, "policy" | "mode">, stored: FlowCancel): boolean =>
	strength(wanted.policy) > strength(stored.policy) ||
	(wanted.policy === stored.policy &&
		wanted.policy === "cancel_all" &&
		wanted.mode === "force" &&
		stored.mode === "graceful");

export interface DeleteFlowCommand extends FlowTarget {
	op: "deleteFlow";
	actor: string;
}

export type DeleteFlowOutcome = Outcome<{ deleted: true }>;

/** Ended flows, and those that are still being built and have never run. */
export function deleteFlow(tx: Tx, command: DeleteFlowCommand, now: number): DeleteFlowOutcome {
	const flow = findFlow(tx, command);
	if (!flow) return flowNotFound(command);
	const isUnused = !flow.isSealed && !flow.isStarted;
	if (flow.outcome === "" && !isUnused) return refuse("flow_not_terminal", { flowId: flow.id });
	removeFlow(new FlowStep(tx, flow, { now, actor: command.actor }));
	return { ok: true, deleted: true };
}

export interface DropFlowCommand {
	op: "dropFlow";
	flowId: string;
	actor: string;
}

/** Gives up a flow that is not whole yet. One that is after all, since only the answer to its last part was lost, stays. */
export function dropFlow(tx: Tx, { flowId, actor }: DropFlowCommand, now: number): Outcome<{ isGone: boolean }> {
	const flow = tx.get(flowKey(flowId));
	if (!flow || flow.removing) return { ok: true, isGone: true };
	if (flow.buildUntil === 0) return { ok: true, isGone: false };
	removeFlow(new FlowStep(tx, flow, { now, actor }));
	return { ok: true, isGone: true };
}
