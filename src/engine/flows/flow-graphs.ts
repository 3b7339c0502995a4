import type { FlowRecord } from "../../kernel/records/flow.ts";
import type { FlowReader } from "./flow-reader.ts";

/** Which nodes lead to which, by executions, of a flow at a revision. */
interface KnownGraph {
	revision: number;
	downstream: Map<string, string[]>;
}

/** Flows that are being built at the same time and whose graphs are remembered. */
const MOST_REMEMBERED = 16;

/**
 * Tells whether an edge would close a cycle. The answer holds for the revision it was worked out for, which the rule checks:
 * so it is exact however large the graph is. A graph that grows by this engine's own edges is read once.
 */
export class FlowGraphs {
	readonly #known = new Map<string, KnownGraph>();

	async closesCycle(reader: FlowReader, flow: FlowRecord, from: string, to: string): Promise<boolean> {
		const { downstream } = await this.#graph(reader, flow);
		const seen = new Set([to]);
		for (const node of seen) {
			if (node === from) return true;
			for (const next of downstream.get(node) ?? []) seen.add(next);
		}
		return false;
	}

	/** A member or an edge was added, which made this revision. */
	grew(flowId: string, revision: number, edge?: { from: string; to: string }): void {
		const known = this.#known.get(flowId);
		if (!known || known.revision !== revision - 1) return;
		known.revision = revision;
		if (!edge) return;
		const { from, to } = edge;
		const out = known.downstream.get(from);
		if (out) out.push(to);
		else known.downstream.set(from, [to]);
	}

	async #graph(reader: FlowReader, flow: FlowRecord): Promise<KnownGraph> {
		const known = this.#known.get(flow.id);
		if (known?.revision === flow.revision) return known;
		const downstream = await reader.downstream(flow);
		const graph = { revision: flow.revision, downstream };
		this.#known.delete(flow.id);
		this.#known.set(flow.id, graph);
		const [oldest] = this.#known.keys();
		if (this.#known.size > MOST_REMEMBERED && oldest !== undefined) this.#known.delete(oldest);
		return graph;
	}
}
