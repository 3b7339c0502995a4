import type { Execution, FlowEdge, FlowNode, FlowSummary, FlowView } from "../../contract/replies.ts";
import type { FlowState } from "../../kernel/flows/flow-state.ts";
import type { PublicState } from "../../kernel/state.ts";
import type { Style, Terminal } from "../terminal.ts";
import { STATE_STYLES } from "./states.ts";
import { printTable, tableLines } from "./table.ts";
import { oneLine } from "./text.ts";
import { length, relative } from "./times.ts";

/** Flows for a person. */

const FLOW_STYLES: Record<FlowState, Style> = {
	open: "yellow",
	running: "cyan",
	blocked: "magenta",
	completed: "green",
	failed: "red",
	cancelled: "gray",
};

const MARKS: Record<PublicState, string> = {
	waiting: "○",
	delayed: "○",
	rate_limited: "○",
	waiting_children: "·",
	active: "▶",
	suspended: "‖",
	completed: "✓",
	failed: "✗",
	cancelled: "–",
	expired: "✗",
	skipped: "–",
};

const EDGE_MARKS: Record<FlowEdge["state"], string> = { pending: "…", satisfied: "✓", impossible: "✗" };

/** Siblings that look alike are shown one by one up to so many. */
const MOST_ALIKE = 5;

const countsText = ({ counts }: FlowSummary): string =>
	Object.entries(counts)
		.map(([state, count]) => `${count} ${state}`)
		.join(", ");

export function printFlows(terminal: Terminal, flows: readonly FlowSummary[], now: number): void {
	printTable(
		terminal,
		[
			{
				title: "STATE",
				cell: ({ state }) => state,
				paint: (text, { state }) => terminal.style(FLOW_STYLES[state], text),
			},
			{ title: "MEMBERS", cell: countsText, least: 16 },
			{ title: "KIND", cell: ({ kind }) => kind, least: 8 },
			{ title: "ID", cell: ({ id }) => id, isId: true },
			{ title: "CREATED", cell: ({ createdAt }) => relative(createdAt, now) },
		],
		flows,
	);
}

/** Members that do not run although they have not ended, and why; in the order of the graph. */
export type Waiting = Pick<Execution, "id" | "blockingDetail">;

/** A flow drawn: its nodes layer by layer, none above one it waits for, each with what leads to it. */
export function flowLines(
	terminal: Terminal,
	flow: FlowView,
	waiting: readonly Waiting[],
	now: number,
	isWhole: boolean,
): string[] {
	const layers = layersOf(flow);
	const rows = layers.flatMap((nodes, layer) => rowsOf(nodes, layer, incoming(flow), now, isWhole));
	return [
		...heading(terminal, flow, now),
		"",
		...(rows.length > 0 ? nodeLines(terminal, rows) : ["It has no nodes."]),
		...whyLines(terminal, flow, waiting),
	];
}

function heading(terminal: Terminal, flow: FlowView, now: number): string[] {
	const { id, kind, state, nodeCount, edgeCount, sealed, cancel, createdAt, endedAt } = flow;
	const took = endedAt === undefined ? `for ${length(now - createdAt)}` : `after ${length(endedAt - createdAt)}`;
	const asked = cancel && `${cancel.policy}${cancel.reason === undefined ? "" : `: ${oneLine(cancel.reason)}`}`;
	return [
		`${id} ${oneLine(kind)}`.trimEnd(),
		`${terminal.style(FLOW_STYLES[state], state)} ${took}${sealed ? "" : ", not sealed"}`,
		`${nodeCount} nodes, ${edgeCount} edges${nodeCount > 0 ? `: ${countsText(flow)}` : ""}`,
		...(asked === undefined ? [] : [`cancelled with ${asked}`]),
	];
}

/** A node, or several that look alike. */
interface Row {
	layer: string;
	node: FlowNode;
	name: string;
	took: string;
	from: string;
}

function nodeLines(terminal: Terminal, rows: readonly Row[]): string[] {
	return tableLines(
		terminal,
		[
			{ title: "", cell: ({ layer }) => layer, align: "right" },
			{
				title: "NODE",
				cell: ({ node, name }) => `${MARKS[node.publicState]} ${name}`,
				paint: (text, { node }) => terminal.style(STATE_STYLES[node.publicState], text),
				least: 20,
			},
			{ title: "STATE", cell: ({ node }) => node.publicState },
			{ title: "TOOK", cell: ({ took }) => took, align: "right" },
			{ title: "FROM", cell: ({ from }) => from, least: 16 },
		],
		rows,
	);
}

function rowsOf(
	nodes: readonly FlowNode[],
	layer: number,
	edges: ReadonlyMap<string, readonly FlowEdge[]>,
	now: number,
	isWhole: boolean,
): Row[] {
	const rows: Row[] = [];
	const alike = new Map<string, { count: number; last: Row }>();
	for (const node of nodes) {
		const from = fromText(node, edges.get(node.key) ?? []);
		const sign = `${node.kind}\n${node.publicState}\n${from}`;
		const seen = alike.get(sign);
		if (!isWhole && seen && seen.count >= MOST_ALIKE) {
			seen.count += 1;
			continue;
		}
		const row = {
			layer: rows.length === 0 ? String(layer + 1) : "",
			node,
			name: node.key,
			took: tookText(node, now),
			from,
		};
		rows.push(row);
		alike.set(sign, { count: (seen?.count ?? 0) + 1, last: row });
	}
	for (const { count, last } of alike.values())
		if (!isWhole && count > MOST_ALIKE) last.name += ` and ${count - MOST_ALIKE} more like it`;
	return rows;
}

function tookText({ startedAt, completedAt, publicState }: FlowNode, now: number): string {
	if (startedAt === undefined) return "";
	if (completedAt !== undefined) return length(completedAt - startedAt);
	return publicState === "active" || publicState === "suspended" ? length(now - startedAt) : "";
}

/** `any of ✓ a, … b (failure)` */
function fromText({ group }: FlowNode, edges: readonly FlowEdge[]): string {
	const shown = edges.slice(0, MOST_ALIKE).map(({ from, on, state }) => {
		const condition = on === "success" ? "" : ` (${on})`;
		return `${EDGE_MARKS[state]} ${from}${condition}`;
	});
	const more = edges.length > shown.length ? ` and ${edges.length - shown.length} more` : "";
	const { policy } = group;
	const many = policy === "all_of" ? "" : policy === "any_of" ? "any of " : `${policy.quorum} of `;
	return `${many}${shown.join(", ")}${more}`;
}

function whyLines(terminal: Terminal, { nodes }: FlowView, waiting: readonly Waiting[]): string[] {
	const why = new Map(waiting.map(({ id, blockingDetail }) => [id, blockingDetail]));
	const rows = nodes.filter(({ executionId }) => why.get(executionId));
	if (rows.length === 0) return [];
	return [
		"",
		...tableLines(
			terminal,
			[
				{ title: "NOT RUNNING", cell: ({ key }) => key, least: 12 },
				{ title: "WHY", cell: ({ executionId }) => why.get(executionId) ?? "", least: 24 },
			],
			rows,
		),
	];
}

function incoming({ edges }: FlowView): Map<string, FlowEdge[]> {
	const to = new Map<string, FlowEdge[]>();
	for (const edge of edges) to.set(edge.to, [...(to.get(edge.to) ?? []), edge]);
	return to;
}

/** Each node one layer below the lowest it waits for: they come in an order in which that is known already. */
function layersOf(flow: FlowView): FlowNode[][] {
	const upstreams = incoming(flow);
	const depth = new Map<string, number>();
	const layers: FlowNode[][] = [];
	for (const node of flow.nodes) {
		const above = (upstreams.get(node.key) ?? []).map(({ from }) => depth.get(from) ?? 0);
		const layer = above.reduce((deepest, each) => Math.max(deepest, each + 1), 0);
		depth.set(node.key, layer);
		layers[layer] ??= [];
		layers[layer].push(node);
	}
	return layers;
}
