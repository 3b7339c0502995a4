import type { GroupRequest, NodeRequest } from "../../src/contract/flows.ts";
import type { Random } from "./random.ts";
import { KINDS } from "./tenants.ts";

export interface RandomEdge {
	from: string;
	to: string;
	on?: "success" | "failure" | "completion";
	passResultAs?: string;
}

export interface RandomGraph {
	/** Every node behind all that lead to it. */
	nodes: NodeRequest[];
	edges: RandomEdge[];
	groups: ({ node: string } & GroupRequest)[];
}

const MOST_NODES = 60;

/** A graph of any shape: wide or deep, with few edges or many. */
export function someGraph(random: Random): RandomGraph {
	const size = random.weighted({ small: 6, middle: 3, large: 1 });
	const most = { small: 8, middle: 25, large: MOST_NODES }[size];
	const nodes = Array.from({ length: random.integer(1, most) }, (_, n) => someNode(random, `n${n}`));
	const edges: RandomEdge[] = [];
	const groups: RandomGraph["groups"] = [];
	// How far back upstreams lie at most, and how many of those lead on.
	const reach = random.pick([1, 4, nodes.length]);
	const density = random.pick([0.15, 0.4, 0.9]) * Math.min(1, 12 / reach);
	for (let to = 1; to < nodes.length; to++) {
		const into: RandomEdge[] = [];
		for (let from = Math.max(0, to - reach); from < to; from++)
			if (random.chance(density)) into.push(someEdge(random, `n${from}`, `n${to}`));
		edges.push(...into);
		if (into.length > 0 && random.chance(0.5)) groups.push({ node: `n${to}`, ...someGroup(random, into.length) });
	}
	return { nodes, edges, groups };
}

function someEdge(random: Random, from: string, to: string): RandomEdge {
	return {
		from,
		to,
		...(random.chance(0.5)
			? { on: random.pick(["success", "failure", "completion", "completion"] as const) }
			: undefined),
		...(random.chance(0.5) ? { passResultAs: `of ${from}` } : undefined),
	};
}

function someGroup(random: Random, edges: number): GroupRequest {
	const policy = random.weighted({ any_of: 4, quorum: 4, all_of: 1 });
	return {
		policy: policy === "quorum" ? { quorum: random.integer(1, edges) } : policy,
		...(random.chance(0.5) ? { onSatisfied: "cancel_remaining" as const } : undefined),
	};
}

function someNode(random: Random, key: string): NodeRequest {
	const backoff = { type: "fixed" as const, delayMs: random.integer(0, 200) };
	return {
		key,
		kind: random.pick(KINDS),
		...(random.chance(0.15) ? { delayMs: random.integer(1, 600) } : undefined),
		policy: {
			...(random.chance(0.3) ? { retry: { maxRetries: 1, backoff } } : undefined),
			...(random.chance(0.2) ? { maxReclaims: random.pick([0, 1]) } : undefined),
			...(random.chance(0.1) ? { timeouts: someTimeouts(random) } : undefined),
		},
	};
}

const someTimeouts = (random: Random) =>
	random.pick([{ attemptMs: random.integer(50, 800) }, { queueMs: 3000 }, { deadlineMs: random.integer(2000, 9000) }]);
