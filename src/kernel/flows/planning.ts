import type { NewExecution } from "../creating.ts";
import type { Group } from "../records/execution.ts";
import { MEMBERS_PER_PAGE } from "../records/flow.ts";
import { type InEdge, LINKS_PER_PAGE, type LinksRecord, makeLinks, type OutEdge } from "../records/links.ts";
import { inOneGo, STEP, type Steps } from "../steps.ts";
import type { Graph } from "./graph.ts";

/** A member that is to be made. */
export interface NewMember {
	key: string;
	number: number;
	group: Group;
	hasLinks: boolean;
	hasParents: boolean;
	/** The hash of what was given for it; left out where no key has to lead to it. */
	bodyHash?: string;
	work: NewExecution;
}

export interface NewLinks {
	executionId: string;
	page: number;
	record: LinksRecord;
}

/** What is written of a flow in one step. */
export interface FlowPart {
	/** Neighbours, all of one page. */
	members: NewMember[];
	links: NewLinks[];
}

/** So much fits into a unit, with room for indexes and events. */
const RECORDS_PER_PART = 100;
const BYTES_PER_PART = 400_000;

/** A node as it was given, and made into work. */
export interface GivenNode {
	key: string;
	bodyHash?: string;
	work: NewExecution;
}

/** Divides a flow into parts that each fit into one step. Written in order, all edges of a part's members are in it or behind it. */
export const planFlow = (nodes: readonly GivenNode[], graph: Graph, edgeIds: readonly string[]): FlowPart[] =>
	inOneGo(planningFlow(nodes, graph, edgeIds));

/** The same in steps. */
export function* planningFlow(
	nodes: readonly GivenNode[],
	graph: Graph,
	edgeIds: readonly string[],
): Steps<FlowPart[]> {
	const ids = graph.order.map((n) => nodes[n]?.work.executionId ?? "");
	const out = ids.map((): OutEdge[] => []);
	const ins = ids.map((): InEdge[] => []);
	for (const [n, { from, to, on, passResultAs }] of graph.edges.entries()) {
		if (n % STEP === STEP - 1) yield;
		const name = passResultAs === undefined ? undefined : { passResultAs };
		out[from]?.push({ id: edgeIds[n] ?? "", to: ids[to] ?? "", place: ins[to]?.length ?? 0, on, ...name });
		ins[to]?.push({ from: ids[from] ?? "", ...name });
	}
	const parts = new Parts();
	let passed = 0;
	for (const [place, n] of graph.order.entries()) {
		const node = nodes[n];
		const group = graph.groups[place];
		if (!node || !group) continue;
		const [upstream, downstream] = [ins[place] ?? [], out[place] ?? []];
		passed += 1 + upstream.length + downstream.length;
		if (passed >= STEP) {
			passed = 0;
			yield;
		}
		const hasLinks = upstream.length + downstream.length > 0;
		const hasParents = upstream.some(({ passResultAs }) => passResultAs !== undefined);
		parts.addMember({ ...node, number: place + 1, group, hasLinks, hasParents });
		for (const links of pagesOf(ids[place] ?? "", downstream, upstream)) parts.addLinks(links);
	}
	return parts.all;
}

function pagesOf(executionId: string, out: readonly OutEdge[], ins: readonly InEdge[]): NewLinks[] {
	const count = Math.ceil(Math.max(out.length, ins.length) / LINKS_PER_PAGE);
	return Array.from({ length: count }, (_, page) => {
		const [from, to] = [page * LINKS_PER_PAGE, (page + 1) * LINKS_PER_PAGE];
		const record = makeLinks({ out: out.slice(from, to), in: ins.slice(from, to) });
		if (page === 0) Object.assign(record, { outs: out.length, ins: ins.length });
		return { executionId, page, record };
	});
}

class Parts {
	readonly all: FlowPart[] = [];
	#records = 0;
	#bytes = 0;

	addMember(member: NewMember): void {
		const isNewPage = (member.number - 1) % MEMBERS_PER_PAGE === 0;
		const { input, inputBlob } = member.work;
		const part = this.#partFor(3, 600 + (input?.size ?? 0) + (inputBlob ? 0 : member.key.length), isNewPage);
		part.members.push(member);
	}

	addLinks(links: NewLinks): void {
		this.#partFor(1, 150 * (links.record.out.length + links.record.in.length), false).links.push(links);
	}

	#partFor(records: number, bytes: number, isNewPage: boolean): FlowPart {
		const last = this.all.at(-1);
		const fits = this.#records + records <= RECORDS_PER_PART && this.#bytes + bytes <= BYTES_PER_PART;
		this.#records = (last && fits && !isNewPage ? this.#records : 0) + records;
		this.#bytes = (last && fits && !isNewPage ? this.#bytes : 0) + bytes;
		if (last && fits && !isNewPage) return last;
		const part: FlowPart = { members: [], links: [] };
		this.all.push(part);
		return part;
	}
}
