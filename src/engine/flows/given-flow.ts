import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import { type CreateFlowRequest, type GroupRequest, nodeRequest } from "../../contract/flows.ts";
import { MAX_GUARDS } from "../../contract/guards.ts";
import { WHOLE_REQUEST } from "../../contract/validate.ts";
import { type GivenGroup, type Graph, MAX_NODES, orderGraph } from "../../kernel/flows/graph.ts";
import type { GivenNode } from "../../kernel/flows/planning.ts";
import { refuse } from "../../kernel/outcome.ts";
import type { CreateCommand } from "../../kernel/rules/create.ts";
import { createCommand, type SubmissionContext } from "../submission.ts";

/** A node as it came, made into work of its flow. */
export interface NodeOfFlow extends GivenNode {
	work: CreateCommand;
	bodyHash: string;
}

/** What every node of a flow has of it. */
export interface FlowTerms {
	namespace: string;
	budgets: readonly string[];
}

/** Checks a node like a submission; `field` is where it stood, for whoever reads the error. */
export function nodeOfFlow(
	given: unknown,
	{ namespace, budgets }: FlowTerms,
	context: SubmissionContext,
	field = "",
): NodeOfFlow {
	try {
		const { key, ...request } = nodeRequest.check(given) as { key: string; namespace?: string };
		if (request.namespace !== undefined && request.namespace !== namespace)
			throw invalid("namespace", `must be that of the flow, ${namespace}`);
		const work = createCommand({ ...request, namespace }, { ...context, boundBy: budgets });
		const all = [...new Set([...budgets, ...(work.budgets ?? [])])].sort();
		if (all.length > MAX_GUARDS) throw invalid("budgets", `must be at most ${MAX_GUARDS} with those of the flow`);
		if (all.length > 0) work.budgets = all;
		return { key, work, bodyHash: work.bodyHash ?? "" };
	} catch (error) {
		throw field === "" ? error : within(field, error);
	}
}

/** The same error, said of a field of something larger. */
function within(place: string, error: unknown): unknown {
	if (!(error instanceof FlowFabricError)) return error;
	const { field } = error.details ?? {};
	if (typeof field !== "string") return error;
	const inner = field === WHOLE_REQUEST ? place : `${place}.${field}`;
	const message = error.message.startsWith(field)
		? inner + error.message.slice(field.length)
		: `${place}: ${error.message}`;
	return new FlowFabricError(error.code, { message, details: { ...error.details, field: inner } });
}

/** The graph in order, or its refusal. */
export function graphOf(
	nodes: readonly NodeOfFlow[],
	{ edges = [], groups = [], sealed = true }: CreateFlowRequest,
): Graph {
	const graph = orderGraph({
		nodes: nodes.map(({ key }) => key),
		edges: edges.map(({ from, to, on = "success", passResultAs }) =>
			passResultAs === undefined ? { from, to, on } : { from, to, on, passResultAs },
		),
		groups: groups.map(({ node, ...group }) => ({ node, ...givenGroup(group) })),
		isSealed: sealed,
	});
	if ("ok" in graph) throw refusalError(graph);
	return graph;
}

export function givenGroup({ policy, onSatisfied }: GroupRequest): GivenGroup {
	const cancels = onSatisfied === "cancel_remaining" ? { cancelsRemaining: true as const } : undefined;
	if (typeof policy === "string") return { policy, ...cancels };
	return { policy: "quorum", quorum: policy.quorum, ...cancels };
}

export function refuseTooManyNodes(count: number): void {
	if (count > MAX_NODES) throw refusalError(refuse("too_many_nodes", { field: "nodes", max: MAX_NODES, nodes: count }));
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
