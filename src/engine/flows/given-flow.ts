import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError, refusalError } from "../../contract/errors.ts";
import {
	type CreateFlowRequest,
	createFlowRequest,
	type GroupRequest,
	MAX_EDGES,
	nodeRequest,
} from "../../contract/flows.ts";
import { MAX_GUARDS } from "../../contract/guards.ts";
import { WHOLE_REQUEST } from "../../contract/validate.ts";
import { type GivenGroup, type Graph, MAX_NODES, orderingGraph } from "../../kernel/flows/graph.ts";
import type { GivenNode } from "../../kernel/flows/planning.ts";
import { refuse } from "../../kernel/outcome.ts";
import type { CreateCommand } from "../../kernel/rules/create.ts";
import { STEP } from "../../kernel/steps.ts";
import { inTurns, mapInTurns, turn } from "../bounded.ts";
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

/** Checks what a flow is made of, its edges some at a time: there may be half a million. */
export async function checkedFlow(given: unknown, clock: Clock): Promise<CreateFlowRequest> {
	const { edges } = (given ?? {}) as { edges?: unknown };
	// Too many are refused before one is looked at.
	if (!Array.isArray(edges) || edges.length <= STEP || edges.length > MAX_EDGES) return createFlowRequest.check(given);
	const flow = createFlowRequest.check({ ...(given as object), edges: [] });
	// The caller may use the list again as soon as it has called.
	const all = [...edges];
	for (let from = 0; from < all.length; from += STEP) {
		if (from > 0) await turn(clock);
		try {
			createFlowRequest.check({ nodes: [], edges: all.slice(from, from + STEP) });
		} catch (error) {
			throw shifted(error, from);
		}
	}
	return { ...flow, edges: all };
}

/** An error about an edge, named by its place among all. */
function shifted(error: unknown, by: number): unknown {
	if (!(error instanceof FlowFabricError)) return error;
	const move = (text: string) => text.replace(/^edges\[(\d+)\]/, (_, n: string) => `edges[${Number(n) + by}]`);
	const { field } = error.details;
	return new FlowFabricError(error.code, {
		message: move(error.message),
		details: { ...error.details, ...(typeof field === "string" ? { field: move(field) } : undefined) },
	});
}

/** The graph in order, or its refusal. */
export async function graphOf(
	nodes: readonly NodeOfFlow[],
	{ edges = [], groups = [], sealed = true }: CreateFlowRequest,
	clock: Clock,
): Promise<Graph> {
	const given = {
		nodes: nodes.map(({ key }) => key),
		edges: await mapInTurns(edges, clock, ({ from, to, on = "success", passResultAs }) =>
			passResultAs === undefined ? { from, to, on } : { from, to, on, passResultAs },
		),
		groups: groups.map(({ node, ...group }) => ({ node, ...givenGroup(group) })),
		isSealed: sealed,
	};
	const graph = await inTurns(orderingGraph(given), clock);
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
