import type { GivenEdge } from "../../src/kernel/flows/graph.ts";
import type { PlayedGraph } from "./flow-play.ts";

type End = "completed" | "failed" | "skipped";

/** What becomes of a flow when every member that runs ends as `ends` says: worked out once, from the front to the back. */
export function evaluate(
	graph: PlayedGraph,
	order: readonly string[],
	ends: ReadonlyMap<string, "complete" | "fail">,
): { states: Record<string, End>; outcome: "completed" | "failed" } {
	const edges = (graph.edges ?? []).map((edge): GivenEdge => ({ on: "success", ...edge }));
	const groups = new Map((graph.groups ?? []).map((group) => [group.node, group]));
	const states: Record<string, End> = {};
	const satisfies = ({ from, on }: GivenEdge): boolean => {
		const end = states[from];
		if (end === "skipped") return false;
		return on === "completion" || (end === "completed") === (on === "success");
	};
	const isSatisfied = (key: string): boolean => {
		const upstream = edges.filter(({ to }) => to === key);
		const { policy = "all_of", quorum = 1 } = groups.get(key) ?? {};
		const needed = policy === "all_of" ? upstream.length : policy === "any_of" ? 1 : quorum;
		return upstream.filter(satisfies).length >= needed;
	};
	for (const key of order)
		states[key] = !isSatisfied(key) ? "skipped" : ends.get(key) === "fail" ? "failed" : "completed";
	const failsFlow = order.some((key) => {
		if (states[key] !== "failed") return false;
		const out = edges.filter(({ from }) => from === key);
		if (out.some(satisfies)) return false;
		return out.length === 0 || out.some(({ to }) => !isSatisfied(to));
	});
	return { states, outcome: failsFlow ? "failed" : "completed" };
}
