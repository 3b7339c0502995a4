import { MAX_NODES } from "../kernel/flows/graph.ts";
import { CANCEL_POLICIES, type CancelPolicy } from "../kernel/records/flow.ts";
import { EDGE_CONDITIONS, type EdgeCondition } from "../kernel/records/links.ts";
import { type CreateRequest, cancelMode } from "./executions.ts";
import { duration, integer, kind, namespace, page, text, wellFormedText } from "./fields.ts";
import { guardIds } from "./guards.ts";
import { described, type Static, Type } from "./schema.ts";
import { tags } from "./tags.ts";
import { shape } from "./validate.ts";

/** Requests about flows. */

const strict = { additionalProperties: false, allowed: "must be an object" } as const;

const nodeKey = wellFormedText(1, 256, "The node's name within its flow");

const on = Type.Unsafe<EdgeCondition>(
	Type.Enum([...EDGE_CONDITIONS], {
		description: "Which outcomes of the upstream satisfy it (success)",
		allowed: `must be one of ${EDGE_CONDITIONS.join(", ")}`,
	}),
);

const edgeFields = {
	from: described(nodeKey, "Key of the upstream node"),
	to: described(nodeKey, "Key of the downstream node"),
	on: Type.Optional(on),
	passResultAs: Type.Optional(
		text(1, 256, "The name under which the downstream gets the upstream's result (not passed)"),
	),
};

const groupFields = {
	policy: Type.Union(
		[
			Type.Literal("all_of"),
			Type.Literal("any_of"),
			Type.Object({ quorum: integer(1, MAX_NODES, "How many edges must be satisfied") }, strict),
		],
		{
			description: "How many of the node's incoming edges must be satisfied",
			allowed: 'must be "all_of", "any_of" or {quorum}',
		},
	),
	onSatisfied: Type.Optional(
		Type.Union([Type.Literal("cancel_remaining"), Type.Literal("let_run")], {
			description: "What happens to upstreams that are no longer needed (let_run)",
			allowed: 'must be "cancel_remaining" or "let_run"',
		}),
	),
};

/** A node is checked by itself, like a submission; only its key is taken apart here. */
export const nodeRequest = shape(
	Type.Object({ key: nodeKey }, { additionalProperties: true, allowed: "must be an object" }),
);

/** A node of a flow: its key, and what a submission says. */
export type NodeRequest = CreateRequest & {
	/** The node's name within its flow. */
	key: string;
};

const many = (what: string, most: number, description: string) => ({
	maxItems: most,
	description,
	allowed: `must be an array of at most ${most} ${what}`,
});

/** So many fit into a body. */
export const MAX_EDGES = 500_000;

export const createFlowRequest = shape(
	Type.Object(
		{
			kind: Type.Optional(described(kind, "What it is for, to find it by (none)")),
			namespace: Type.Optional(namespace),
			tags: Type.Optional(described(tags, "Words to find it by: {key: value} (none)")),
			budgets: Type.Optional(guardIds("Budgets that apply to every member (none)")),
			retentionMs: Type.Optional(
				duration(0, "How long it is kept after its end (the server's, 24 h); 0 keeps it until it is deleted"),
			),
			idempotencyKey: Type.Optional(
				text(0, 256, "Creating again under this key gives the first flow (none, as with an empty one)"),
			),
			createdBy: Type.Optional(text(1, 256, "Who submitted it (the caller)")),
			nodes: Type.Array(Type.Unknown(), { description: "Its members: a key, and what a submission says" }),
			edges: Type.Optional(
				Type.Array(Type.Object(edgeFields, strict), many("edges", MAX_EDGES, "Which member waits for which (none)")),
			),
			groups: Type.Optional(
				Type.Array(
					Type.Object({ node: described(nodeKey, "Key of the node that waits"), ...groupFields }, strict),
					many("groups", MAX_NODES, "What nodes wait for that do not need all of their edges (none)"),
				),
			),
			sealed: Type.Optional(
				Type.Boolean({
					description: "Whether it takes no more members and edges (true)",
					allowed: "must be a boolean",
				}),
			),
		},
		strict,
	),
);

/** A flow as plain JSON. */
export type CreateFlowRequest = Static<typeof createFlowRequest.schema>;

export const edgeRequest = shape(
	Type.Object(
		{
			...edgeFields,
			expectedRevision: integer(0, Number.MAX_SAFE_INTEGER, "The revision of the graph that you have read"),
		},
		strict,
	),
);

/** An edge to add to a flow. */
export type EdgeRequest = Static<typeof edgeRequest.schema>;

export const groupRequest = shape(Type.Object(groupFields, strict));

/** What a node waits for. */
export type GroupRequest = Static<typeof groupRequest.schema>;

export const cancelFlowRequest = shape(
	Type.Object(
		{
			reason: Type.Optional(text(1, 1024, "Why (none)")),
			policy: Type.Unsafe<CancelPolicy>(
				Type.Enum([...CANCEL_POLICIES], {
					description: "What becomes of its members",
					allowed: `must be one of ${CANCEL_POLICIES.join(", ")}`,
				}),
			),
			mode: Type.Optional(cancelMode("Whether running members are asked to stop, or are ended at once (graceful)")),
			graceMs: Type.Optional(duration(0, "How long holders may take (30000)")),
		},
		strict,
	),
);

/** How to cancel a flow. */
export type CancelFlowRequest = Static<typeof cancelFlowRequest.schema>;

export const flowsPageRequest = shape(
	Type.Object(
		{
			namespace: Type.Optional(namespace),
			kind: Type.Optional(described(kind, "Only flows of this kind (all)")),
			...page,
		},
		strict,
	),
);

/** Which flows to list. */
export type FlowsPageRequest = Static<typeof flowsPageRequest.schema>;
