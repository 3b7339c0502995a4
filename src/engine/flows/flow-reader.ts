import { FlowFabricError } from "../../contract/errors.ts";
import type { FlowSummary, FlowView } from "../../contract/replies.ts";
import { edgeStateOf } from "../../kernel/flows/member-links.ts";
import { isFlowFor } from "../../kernel/flows/target.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import {
	type FlowMemberEntry,
	type FlowMembersRecord,
	type FlowNodeRecord,
	type FlowProgressRecord,
	type FlowRecord,
	flowKey,
	flowMembersKey,
	flowNodeKey,
	flowProgressKey,
	MEMBERS_PER_PAGE,
} from "../../kernel/records/flow.ts";
import { LINKS_PER_PAGE, type LinksRecord, linksDefaults, linksKey, type OutEdge } from "../../kernel/records/links.ts";
import type { Session } from "../calls/session.ts";
import { readRecords } from "../reading/records.ts";
import { edgeView, nodeView, summaryView } from "./flow-views.ts";

/** Members whose records and edges are read at a time: then others get their turn. */
const AT_ONCE = 250;

/** A member and the edges that lead from it. */
interface MemberWithEdges {
	record: ExecutionRecord;
	edges: readonly OutEdge[];
	/** The first page of them, which tells what is to be done with them. */
	links: LinksRecord;
}

/** Reads flows as the store has them. */
export class FlowReader {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	/** A flow, or `flow_not_found`. */
	async read(flowId: string): Promise<FlowRecord> {
		const [flow] = await this.#records<FlowRecord>(flowId, [flowKey(flowId)]);
		if (!flow || !isFlowFor(flow, this.#session.caller.namespace)) throw flowNotFound(flowId);
		return flow;
	}

	/** The flow and how its members are: read at once, so both are of the same moment. */
	async summary(flowId: string): Promise<FlowSummary> {
		const [flow, progress] = await this.#records<FlowRecord & FlowProgressRecord>(flowId, [
			flowKey(flowId),
			flowProgressKey(flowId),
		]);
		if (!flow || !isFlowFor(flow, this.#session.caller.namespace)) throw flowNotFound(flowId);
		return summaryView(flow, { ...progress?.states });
	}

	/** All of it. */
	async view(flowId: string): Promise<FlowView> {
		const view: FlowView = { ...(await this.summary(flowId)), nodes: [], edges: [] };
		const members = await this.members(await this.read(flowId));
		const keys = new Map(members.map(({ key, executionId }) => [executionId, key]));
		for await (const { record, edges, links } of this.#withEdges(flowId, members)) {
			view.nodes.push(nodeView(record));
			for (const [n, edge] of edges.entries()) {
				const state = edgeStateOf(edge, n, record, links);
				view.edges.push(edgeView(edge, record.member?.key ?? "", keys.get(edge.to) ?? "", state));
			}
		}
		return view;
	}

	/** Every member, by its number. */
	async members({ id, nodes }: FlowRecord): Promise<FlowMemberEntry[]> {
		const pages = Math.ceil(nodes / MEMBERS_PER_PAGE);
		const keys = Array.from({ length: pages }, (_, page) => flowMembersKey(id, page));
		const found = await this.#records<FlowMembersRecord>(id, keys);
		return found.flatMap((page) => page?.members ?? []);
	}

	/** Which members lead to which, by their executions. */
	async downstream(flow: FlowRecord): Promise<Map<string, string[]>> {
		const downstream = new Map<string, string[]>();
		for await (const { record, edges } of this.#withEdges(flow.id, await this.members(flow)))
			if (edges.length > 0)
				downstream.set(
					record.id,
					edges.map(({ to }) => to),
				);
		return downstream;
	}

	/** The executions of nodes of a flow that can grow. */
	async executionsOf(flowId: string, nodes: readonly string[]): Promise<(string | undefined)[]> {
		const keys = nodes.map((node) => flowNodeKey(flowId, node));
		return (await this.#records<FlowNodeRecord>(flowId, keys)).map((node) => node?.executionId);
	}

	async *#withEdges(flowId: string, members: readonly FlowMemberEntry[]): AsyncGenerator<MemberWithEdges> {
		for (let from = 0; from < members.length; from += AT_ONCE) {
			const keys = members.slice(from, from + AT_ONCE).map(({ executionId }) => executionKey(executionId));
			const records = (await this.#records<ExecutionRecord>(flowId, keys)).filter((record) => record !== undefined);
			const first = await this.#records<LinksRecord>(
				flowId,
				records.map(({ id }) => linksKey(id)),
			);
			for (const [n, record] of records.entries()) {
				const links = first[n] ?? linksDefaults;
				yield { record, links, edges: await this.#edgesOf(flowId, record.id, links) };
			}
		}
	}

	async #edgesOf(flowId: string, executionId: string, first: LinksRecord): Promise<readonly OutEdge[]> {
		const pages = Math.ceil(first.outs / LINKS_PER_PAGE);
		if (pages <= 1) return first.out;
		const keys = Array.from({ length: pages - 1 }, (_, n) => linksKey(executionId, n + 1));
		return [first, ...(await this.#records<LinksRecord>(flowId, keys))].flatMap((page) => page?.out ?? []);
	}

	#records<R extends object>(flowId: string, keys: readonly string[]): Promise<(R | undefined)[]> {
		return readRecords<R>(this.#session, this.#session.engine.runnerOfFlow(flowId), keys);
	}
}

const flowNotFound = (flowId: string): FlowFabricError =>
	new FlowFabricError("flow_not_found", { details: { flowId } });
