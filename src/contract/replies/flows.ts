import { FLOW_STATES } from "../../kernel/flows/flow-state.ts";
import { CANCEL_POLICIES } from "../../kernel/records/flow.ts";
import { EDGE_CONDITIONS } from "../../kernel/records/links.ts";
import { PUBLIC_STATES } from "../../kernel/state.ts";
import { type Static, type TInteger, type TOptional, Type } from "../schema.ts";
import { at, count, flag, nextCursor, one, publicState, tags, text, texts } from "./parts.ts";

const counts = Type.Object(
	Object.fromEntries(
		PUBLIC_STATES.map((state) => [state, Type.Optional(count("How many are in this state"))]),
	) as Record<(typeof PUBLIC_STATES)[number], TOptional<TInteger>>,
	{ description: "Members by public state; states without any are left out" },
);

const cancel = Type.Object(
	{
		policy: one(CANCEL_POLICIES, "What becomes of its members"),
		mode: one(["graceful", "force"], "Whether running members are asked to stop, or are ended at once"),
		reason: Type.Optional(text("Why, in the words of whoever asked")),
		requestedAt: at("When it was asked for"),
	},
	{ description: "Set when a cancel was asked for" },
);

const revision = count("Grows with every change of its graph");

const summary = {
	id: text("Id of the flow"),
	kind: text("What it is for, as its creator named it; empty for none"),
	namespace: text("The tenant it belongs to"),
	state: one(FLOW_STATES, "What it does now, or how it ended"),
	counts,
	nodeCount: count("How many members it has"),
	edgeCount: count("How many edges it has"),
	revision,
	sealed: flag("Whether it takes no more members and edges"),
	tags,
	budgets: texts("Budgets that apply to every member"),
	retentionMs: count("How long it is kept after its end, in milliseconds; 0 keeps it until it is deleted"),
	idempotencyKey: Type.Optional(text("The key it was created under")),
	cancel: Type.Optional(cancel),
	createdBy: text("Who submitted it"),
	createdAt: at("When it was created"),
	endedAt: Type.Optional(at("When it ended")),
};

export const flowSummary = Type.Object(summary);

/** A flow in a list. */
export interface FlowSummary extends Static<typeof flowSummary> {}

const policy = Type.Union(
	[Type.Literal("all_of"), Type.Literal("any_of"), Type.Object({ quorum: count("How many edges must be satisfied") })],
	{ description: "How many of the node's incoming edges must be satisfied" },
);

const node = Type.Object({
	key: text("The node's name within its flow"),
	executionId: text("The execution of the node"),
	kind: text("Which handler runs it"),
	publicState,
	group: Type.Object(
		{
			policy,
			onSatisfied: one(["cancel_remaining", "let_run"], "What happens to upstreams that are no longer needed"),
			edges: count("How many edges lead to it"),
			satisfied: count("How many of them are satisfied"),
			impossible: count("How many of them can no longer be satisfied"),
		},
		{ description: "What it waits for, and how that stands" },
	),
	startedAt: Type.Optional(at("When its first attempt began")),
	completedAt: Type.Optional(at("When it ended")),
});

/** A member of a flow. */
export interface FlowNode extends Static<typeof node> {}

const edge = Type.Object({
	id: text("Id of the edge"),
	from: text("Key of the upstream node"),
	to: text("Key of the downstream node"),
	on: one(EDGE_CONDITIONS, "Which outcomes of the upstream satisfy it"),
	passResultAs: Type.Optional(text("The name under which the downstream gets the upstream's result")),
	state: one(["pending", "satisfied", "impossible"], "Whether it is satisfied, or still can be"),
});

/** An edge of a flow: one member waits for another. */
export interface FlowEdge extends Static<typeof edge> {}

export const flow = Type.Object({
	...summary,
	nodes: Type.Array(node, { description: "Its members, each behind all that it waits for" }),
	edges: Type.Array(edge, { description: "Which member waits for which" }),
});

/** A flow whole, its members in an order in which none stands before one it waits for. */
export interface FlowView extends Static<typeof flow> {}

export const createdFlow = Type.Object({
	id: text("Id of the flow"),
	revision,
	nodes: Type.Record(Type.String(), { description: "Execution ids by node key" }),
	created: flag("False for a repeat under the same idempotency key"),
});

/** What creating a flow came to. */
export interface CreatedFlow extends Static<typeof createdFlow> {}

export const addedMember = Type.Object({
	executionId: text("The execution of the node"),
	revision,
	nodeCount: count("How many members the flow has now"),
	created: flag("False when the same node was there already"),
});

/** What adding a member to a flow came to. */
export interface AddedMember extends Static<typeof addedMember> {}

export const addedEdge = Type.Object({
	edgeId: text("Id of the edge"),
	revision,
	created: flag("False when the same edge was there already"),
});

/** What adding an edge to a flow came to. */
export interface AddedEdge extends Static<typeof addedEdge> {}

export const flowRevision = Type.Object({ revision });

/** The revision of a flow after a change. */
export interface FlowRevision extends Static<typeof flowRevision> {}

export const cancelledFlow = Type.Object({
	status: one(
		["scheduled", "already_requested", "cancelled", "partially_cancelled", "already_terminal"],
		"What became of the cancel",
	),
	state: one(FLOW_STATES, "What the flow does now, or how it ended"),
	policy: Type.Optional(one(CANCEL_POLICIES, "What becomes of its members")),
	reason: Type.Optional(text("Why, in the words of whoever asked")),
	memberCount: count("How many members it concerns"),
	memberIds: texts("Executions it concerns: the first 1000"),
	failedIds: Type.Optional(texts("Executions that could not be cancelled: the first 1000")),
});

/** What became of a cancel: scheduled, or done when it was waited for. */
export interface CancelledFlow extends Static<typeof cancelledFlow> {}

export const flowPage = Type.Object({ flows: Type.Array(flowSummary, { description: "Newest first" }), nextCursor });

/** A page of flows, newest first. */
export interface FlowPage extends Static<typeof flowPage> {}
