import type { GivenEdge } from "../../src/kernel/flows/graph.ts";
import type { PlayedGraph } from "./flow-play.ts";

/** How a member ended; `spared` is one that a satisfied group had no more use for. */
export type MemberEnd = "completed" | "failed" | "expired" | "cancelled" | "spared" | "skipped";

/** Ends that fail a flow if nobody heeds them. */
const BAD: ReadonlySet<MemberEnd> = new Set(["failed", "expired", "cancelled"]);

/** Whether an end satisfies an edge. */
export const satisfiedBy = (on: GivenEdge["on"], end: MemberEnd): boolean => {
	if (end === "skipped" || end === "spared") return false;
	return on === "completion" || (end === "completed") === (on === "success");
};

/**
 * What becomes of a flow when every member that runs ends as `ends` says: worked out once, from the front to the back. One
 * that `ends` says was cancelled or expired, before it ran or not, is that. An edge that an earlier end had satisfied, before
 * its upstream was replayed, stays so: `kept` tells by which.
 */
export function evaluate(
	graph: PlayedGraph,
	order: readonly string[],
	ends: ReadonlyMap<string, MemberEnd>,
	kept: (edge: GivenEdge) => MemberEnd | undefined = () => undefined,
): { states: Record<string, MemberEnd>; outcome: "completed" | "failed" } {
	const edges = (graph.edges ?? []).map((edge): GivenEdge => ({ on: "success", ...edge }));
	const into = grouped(edges, "to");
	const outOf = grouped(edges, "from");
	const groups = new Map((graph.groups ?? []).map((group) => [group.node, group]));
	const states: Record<string, MemberEnd> = {};
	const endFor = (edge: GivenEdge): MemberEnd => kept(edge) ?? states[edge.from] ?? "skipped";
	const satisfies = (edge: GivenEdge): boolean => satisfiedBy(edge.on, endFor(edge));
	const isSatisfied = (key: string): boolean => {
		const upstream = into.get(key) ?? [];
		const { policy = "all_of", quorum = 1 } = groups.get(key) ?? {};
		const needed = policy === "all_of" ? upstream.length : policy === "any_of" ? 1 : quorum;
		return upstream.filter(satisfies).length >= needed;
	};
	for (const key of order) {
		const end = ends.get(key) ?? "completed";
		const needsGroup = end === "completed" || end === "failed";
		states[key] = needsGroup && !isSatisfied(key) ? "skipped" : end;
	}
	const failsFlow = order.some((key) => {
		if (!BAD.has(states[key] ?? "skipped")) return false;
		const out = outOf.get(key) ?? [];
		if (out.some((edge) => satisfies(edge) && BAD.has(endFor(edge)))) return false;
		return out.length === 0 || out.some((edge) => !isSatisfied(edge.to));
	});
	return { states, outcome: failsFlow ? "failed" : "completed" };
}

function grouped(edges: readonly GivenEdge[], by: "from" | "to"): Map<string, GivenEdge[]> {
	const groups = new Map<string, GivenEdge[]>();
	for (const edge of edges) groups.set(edge[by], [...(groups.get(edge[by]) ?? []), edge]);
	return groups;
}
