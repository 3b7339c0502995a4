import { FLOW_STATES } from "../../kernel/flows/flow-state.ts";
import { CANCEL_POLICIES } from "../../kernel/records/flow.ts";
import { EDGE_CONDITIONS } from "../../kernel/records/links.ts";
import { PUBLIC_STATES } from "../../kernel/state.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor, one, publicState, tags } from "./parts.ts";

const counts = Type.Object(
	Object.fromEntries(PUBLIC_STATES.map((state) => [state, Type.Optional(count)])) as Record<
		(typeof PUBLIC_STATES)[number],
		ReturnType<typeof Type.Optional<typeof count>>
	>,
	{ description: "Members by public state; states without any are left out" },
);

const cancel = Type.Object({
	policy: one(CANCEL_POLICIES),
	mode: one(["graceful", "force"]),
	reason: Type.Optional(Type.String()),
	requestedAt: at,
});

const summary = {
	id: Type.String(),
	kind: Type.String(),
	namespace: Type.String(),
	state: one(FLOW_STATES),
	counts,
	nodeCount: count,
	edgeCount: count,
	revision: count,
	sealed: Type.Boolean(),
	tags,
	budgets: Type.Array(Type.String()),
	retentionMs: count,
	idempotencyKey: Type.Optional(Type.String()),
	cancel: Type.Optional(cancel),
	createdBy: Type.String(),
	createdAt: at,
	endedAt: Type.Optional(at),
};

export const flowSummary = Type.Object(summary);

/** A flow in a list. */
export interface FlowSummary extends Static<typeof flowSummary> {}

const policy = Type.Union([Type.Literal("all_of"), Type.Literal("any_of"), Type.Object({ quorum: count })]);

const node = Type.Object({
	key: Type.String(),
	executionId: Type.String(),
	kind: Type.String(),
	publicState,
	group: Type.Object({
		policy,
		onSatisfied: one(["cancel_remaining", "let_run"]),
		edges: count,
		satisfied: count,
		impossible: count,
	}),
	startedAt: Type.Optional(at),
	completedAt: Type.Optional(at),
});

/** A member of a flow. */
export interface FlowNode extends Static<typeof node> {}

const edge = Type.Object({
	id: Type.String(),
	from: Type.String({ description: "Key of the upstream node" }),
	to: Type.String({ description: "Key of the downstream node" }),
	on: one(EDGE_CONDITIONS),
	passResultAs: Type.Optional(Type.String()),
	state: one(["pending", "satisfied", "impossible"]),
});

export interface FlowEdge extends Static<typeof edge> {}

export const flow = Type.Object({ ...summary, nodes: Type.Array(node), edges: Type.Array(edge) });

/** A flow whole, its members in an order in which none stands before one it waits for. */
export interface FlowView extends Static<typeof flow> {}

export const createdFlow = Type.Object({
	id: Type.String(),
	revision: count,
	nodes: Type.Record(Type.String(), { description: "Execution ids by node key" }),
	created: Type.Boolean({ description: "False for a repeat under the same idempotency key" }),
});

export interface CreatedFlow extends Static<typeof createdFlow> {}

export const addedMember = Type.Object({
	executionId: Type.String(),
	revision: count,
	nodeCount: count,
	created: Type.Boolean(),
});

export interface AddedMember extends Static<typeof addedMember> {}

export const addedEdge = Type.Object({ edgeId: Type.String(), revision: count, created: Type.Boolean() });

export interface AddedEdge extends Static<typeof addedEdge> {}

export const flowRevision = Type.Object({ revision: count });

export interface FlowRevision extends Static<typeof flowRevision> {}

const memberIds = Type.Array(Type.String(), { description: "The first 1000" });

export const cancelledFlow = Type.Object({
	status: one(["scheduled", "already_requested", "cancelled", "partially_cancelled", "already_terminal"]),
	state: one(FLOW_STATES),
	policy: Type.Optional(one(CANCEL_POLICIES)),
	reason: Type.Optional(Type.String()),
	memberCount: count,
	memberIds,
	failedIds: Type.Optional(memberIds),
});

/** What became of a cancel: scheduled, or done when it was waited for. */
export interface CancelledFlow extends Static<typeof cancelledFlow> {}

export const flowPage = Type.Object({ flows: Type.Array(flowSummary), nextCursor });

/** A page of flows, newest first. */
export interface FlowPage extends Static<typeof flowPage> {}
