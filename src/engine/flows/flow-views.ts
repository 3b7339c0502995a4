import type { FlowEdge, FlowNode, FlowSummary } from "../../contract/replies.ts";
import { flowStateOf } from "../../kernel/flows/flow-state.ts";
import type { ExecutionRecord, Group } from "../../kernel/records/execution.ts";
import type { FlowCancel, FlowRecord } from "../../kernel/records/flow.ts";
import type { EdgeState, OutEdge } from "../../kernel/records/links.ts";
import { type PublicState, publicState } from "../../kernel/state.ts";

/** Flows as callers see them. */

export type Counts = Partial<Record<PublicState, number>>;

export function summaryView(flow: FlowRecord, counts: Counts): FlowSummary {
	const { cancel } = flow;
	return {
		id: flow.id,
		kind: flow.kind,
		namespace: flow.namespace,
		state: flowStateOf(flow, counts),
		counts,
		nodeCount: flow.nodes,
		edgeCount: flow.edges,
		revision: flow.revision,
		sealed: flow.isSealed,
		tags: { ...flow.tags },
		budgets: [...flow.budgets],
		retentionMs: flow.retentionMs,
		...(flow.idempotencyKey ? { idempotencyKey: flow.idempotencyKey } : undefined),
		...(cancel ? { cancel: cancelView(cancel) } : undefined),
		createdBy: flow.createdBy,
		createdAt: flow.createdAt,
		...(flow.endedAt ? { endedAt: flow.endedAt } : undefined),
	};
}

const cancelView = ({ policy, mode, reason, requestedAt }: FlowCancel): NonNullable<FlowSummary["cancel"]> => ({
	policy,
	mode,
	...(reason === undefined ? undefined : { reason }),
	requestedAt,
});

export function nodeView(record: ExecutionRecord): FlowNode {
	const { member, startedAt, completedAt } = record;
	return {
		key: member?.key ?? "",
		executionId: record.id,
		kind: record.kind,
		publicState: publicState(record),
		group: groupView(member?.group),
		...(startedAt ? { startedAt } : undefined),
		...(completedAt ? { completedAt } : undefined),
	};
}

function groupView(group: Group | undefined): FlowNode["group"] {
	const { policy = "all_of", quorum = 1, cancelsRemaining, edges = 0, satisfied = 0, impossible = 0 } = group ?? {};
	return {
		policy: policy === "quorum" ? { quorum } : policy,
		onSatisfied: cancelsRemaining ? "cancel_remaining" : "let_run",
		edges,
		satisfied,
		impossible,
	};
}

export const edgeView = (
	{ id, on, passResultAs }: OutEdge,
	from: string,
	to: string,
	state: EdgeState | undefined,
): FlowEdge => ({
	id,
	from,
	to,
	on,
	...(passResultAs === undefined ? undefined : { passResultAs }),
	state: state ?? "pending",
});
