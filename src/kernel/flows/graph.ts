import { type Refusal, refuse } from "../outcome.ts";
import type { Group } from "../records/execution.ts";
import type { EdgeCondition } from "../records/links.ts";
import { inOneGo, STEP, type Steps } from "../steps.ts";
import { isUnreachable } from "./groups.ts";
import { noGroup } from "./members.ts";

/** What a flow may hold. */
export const MAX_NODES = 10_000;

export interface GivenEdge {
	from: string;
	to: string;
	on: EdgeCondition;
	passResultAs?: string;
}

export type GivenGroup = Pick<Group, "policy" | "quorum" | "cancelsRemaining">;

export interface GivenGraph {
	/** Keys of nodes. */
	nodes: readonly string[];
	edges: readonly GivenEdge[];
	groups: readonly (GivenGroup & { node: string })[];
	isSealed: boolean;
}

/** An edge between places in the order of a graph. */
export interface PlacedEdge extends Omit<GivenEdge, "from" | "to"> {
	from: number;
	to: number;
}

export interface Graph {
	/** Places of the given nodes: none stands before one it waits for, and else they keep the order they were given in. */
	order: readonly number[];
	/** By place in that order. */
	groups: readonly Group[];
	edges: readonly PlacedEdge[];
}

/** Puts a graph in order, or says by name what is wrong with it. */
export const orderGraph = (given: GivenGraph): Graph | Refusal => inOneGo(orderingGraph(given));

/** The same in steps: half a million edges take longer than others can wait. */
export function* orderingGraph({ nodes, edges, groups, isSealed }: GivenGraph): Steps<Graph | Refusal> {
	if (nodes.length > MAX_NODES) return refuse("too_many_nodes", { max: MAX_NODES, nodes: nodes.length });
	const places = new Map<string, number>();
	for (const [n, key] of nodes.entries()) {
		if (places.has(key)) return refuse("duplicate_node", { node: key, field: `nodes[${n}].key` });
		places.set(key, n);
	}
	const placed = yield* placeEdges(edges, places);
	if ("ok" in placed) return placed;
	const made = yield* makeGroups(groups, placed, places, nodes.length);
	if ("ok" in made) return made;
	if (isSealed) {
		const n = made.findIndex(isUnreachable);
		if (n >= 0) return refuse("quorum_unreachable", { node: nodes[n], edges: made[n]?.edges });
	}
	const order = yield* orderOf(nodes.length, placed);
	if (order.length < nodes.length) {
		const sorted = new Set(order);
		const rest = nodes.filter((_, n) => !sorted.has(n));
		return refuse("cycle_detected", { nodes: rest.slice(0, 10), count: rest.length });
	}
	const placeOf = new Array<number>(nodes.length);
	for (const [place, n] of order.entries()) placeOf[n] = place;
	const ordered: PlacedEdge[] = [];
	for (const { from, to, on, passResultAs } of placed) {
		if (ordered.length % STEP === STEP - 1) yield;
		ordered.push(edgeBetween(placeOf[from] ?? 0, placeOf[to] ?? 0, on, passResultAs));
	}
	return { order, groups: order.map((n) => made[n] ?? noGroup), edges: ordered };
}

/** Of these there may be half a million: nothing is made for one that need not be. */
function* placeEdges(edges: readonly GivenEdge[], places: ReadonlyMap<string, number>): Steps<PlacedEdge[] | Refusal> {
	// One small table per node: a single one of half a million would take too long whenever it grows.
	const seen = Array.from(places, (): Map<number, GivenEdge> | undefined => undefined);
	const names = Array.from(places, (): Set<string> | undefined => undefined);
	const placed: PlacedEdge[] = [];
	for (const [n, edge] of edges.entries()) {
		if (n % STEP === STEP - 1) yield;
		const { from, to, on, passResultAs } = edge;
		const upstream = places.get(from);
		const downstream = places.get(to);
		if (upstream === undefined) return refuse("unknown_node", { field: `edges[${n}].from`, node: from });
		if (downstream === undefined) return refuse("unknown_node", { field: `edges[${n}].to`, node: to });
		if (upstream === downstream) return refuse("self_edge", { field: `edges[${n}]`, node: from });
		const fromHere = (seen[upstream] ??= new Map());
		const known = fromHere.get(downstream);
		if (known && isSameEdge(known, edge)) continue;
		if (known) return refuse("duplicate_edge", { field: `edges[${n}]`, from, to });
		fromHere.set(downstream, edge);
		if (passResultAs !== undefined) {
			const given = (names[downstream] ??= new Set());
			if (given.has(passResultAs)) return refuse("duplicate_result_name", { field: `edges[${n}]`, to, passResultAs });
			given.add(passResultAs);
		}
		placed.push(edgeBetween(upstream, downstream, on, passResultAs));
	}
	return placed;
}

const edgeBetween = (from: number, to: number, on: EdgeCondition, passResultAs: string | undefined): PlacedEdge =>
	passResultAs === undefined ? { from, to, on } : { from, to, on, passResultAs };

export const isSameEdge = (
	a: Pick<GivenEdge, "on" | "passResultAs">,
	b: Pick<GivenEdge, "on" | "passResultAs">,
): boolean => a.on === b.on && a.passResultAs === b.passResultAs;

function* makeGroups(
	groups: GivenGraph["groups"],
	edges: readonly PlacedEdge[],
	places: ReadonlyMap<string, number>,
	nodes: number,
): Steps<Group[] | Refusal> {
	const made = new Array<Group>(nodes).fill(noGroup);
	const given = new Set<string>();
	for (const [n, { node, ...group }] of groups.entries()) {
		const place = places.get(node);
		if (place === undefined) return refuse("unknown_node", { field: `groups[${n}].node`, node });
		if (given.has(node)) return refuse("duplicate_group", { field: `groups[${n}].node`, node });
		given.add(node);
		made[place] = { ...noGroup, ...group };
	}
	const counts = new Array<number>(nodes).fill(0);
	for (const [n, { to }] of edges.entries()) {
		if (n % STEP === STEP - 1) yield;
		counts[to] = (counts[to] ?? 0) + 1;
	}
	return made.map((group, n) => (counts[n] ? { ...group, edges: counts[n] } : group));
}

/** Those that nothing waiting leads to, first given first; whatever stands in a circle, or behind one, is left out. */
function* orderOf(nodes: number, edges: readonly PlacedEdge[]): Steps<number[]> {
	const waiting = new Array<number>(nodes).fill(0);
	const downstream: number[][] = [];
	for (const [n, { from, to }] of edges.entries()) {
		if (n % STEP === STEP - 1) yield;
		waiting[to] = (waiting[to] ?? 0) + 1;
		downstream[from] ??= [];
		downstream[from].push(to);
	}
	const ready = new Ready();
	for (let n = 0; n < nodes; n++) if (waiting[n] === 0) ready.add(n);
	const order: number[] = [];
	let passed = 0;
	for (let n = ready.take(); n !== undefined; n = ready.take()) {
		order.push(n);
		for (const to of downstream[n] ?? []) {
			if (++passed % STEP === 0) yield;
			waiting[to] = (waiting[to] ?? 0) - 1;
			if (waiting[to] === 0) ready.add(to);
		}
	}
	return order;
}

/** Numbers, of which the lowest is taken: a binary heap. */
class Ready {
	readonly #heap: number[] = [];

	add(n: number): void {
		const heap = this.#heap;
		let at = heap.push(n) - 1;
		while (at > 0) {
			const parent = (at - 1) >> 1;
			if ((heap[parent] as number) <= n) break;
			heap[at] = heap[parent] as number;
			at = parent;
		}
		heap[at] = n;
	}

	take(): number | undefined {
		const heap = this.#heap;
		const [first] = heap;
		const last = heap.pop();
		if (last === undefined || heap.length === 0) return first;
		let at = 0;
		for (;;) {
			let child = 2 * at + 1;
			if (child >= heap.length) break;
			if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child += 1;
			if ((heap[child] as number) >= last) break;
			heap[at] = heap[child] as number;
			at = child;
		}
		heap[at] = last;
		return first;
	}
}
