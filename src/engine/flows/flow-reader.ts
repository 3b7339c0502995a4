import { FlowFabricError } from "../../contract/errors.ts";
import type { FlowEdge, FlowNode, FlowSummary, FlowView } from "../../contract/replies.ts";
import { isFlowFor } from "../../kernel/flows/target.ts";
import { flowStateOf } from "../../kernel/flows/flow-state.ts";
import { flowQueuePrefix } from "../../kernel/placement.ts";
import type { ExecutionRecord, Group } from "../../kernel/records/execution.ts";
import { executionKey } from "../../kernel/records/execution.ts";
import {
	type FlowMemberEntry,
	type FlowMembersRecord,
	type FlowRecord,
	flowKey,
	flowMembersKey,
	MEMBERS_PER_PAGE,
} from "../../kernel/records/flow.ts";
import { LINKS_PER_PAGE, type LinksRecord, linksKey, type OutEdge } from "../../kernel/records/links.ts";
import { type PublicState, publicState } from "../../kernel/state.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Records read at a time. */
const READ_AT_ONCE = 250;

export type Counts = Partial<Record<PublicState, number>>;

/** Reads flows as the store has them. */
export class FlowReader {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	runnerOf(flowId: string): PartitionRunner {
		return this.#session.engine.runnerOfFlow(flowId);
	}

	/** A flow, or `flow_not_found`. */
	async read(flowId: string): Promise<FlowRecord> {
		const [flow] = await this.#records<FlowRecord>(this.runnerOf(flowId), [flowKey(flowId)]);
		if (!flow || !isFlowFor(flow, this.#session.caller.namespace))
			throw new FlowFabricError("flow_not_found", { details: { flowId } });
		return flow;
	}

	/** How many members are in which state; counted by the index, in which every member stands once. */
	async counts({ id }: FlowRecord): Promise<Counts> {
		const prefix = flowQueuePrefix(id);
		const { queues } = await this.runnerOf(id).ask((store, partition) => store.queueSizes(partition, prefix));
		const counts: Counts = {};
		for (const { queue, size } of queues) if (size > 0) counts[queue.slice(prefix.length) as PublicState] = size;
		return counts;
	}

	async summary(flow: FlowRecord): Promise<FlowSummary> {
		const counts = await this.counts(flow);
		const { cancel } = flow;
		return {
			id: flow.id,
			kind: flow.kind,
			namespace: flow.namespace,
			state: flowStateOf(flow, counts),
			counts,
			nodeCount: flow.nodes,
			edgeCount: flow.edges,
			revision: flow.revision,
			sealed: flow.isSealed,
			tags: { ...flow.tags },
			budgets: [...flow.budgets],
			retentionMs: flow.retentionMs,
			...(flow.idempotencyKey ? { idempotencyKey: flow.idempotencyKey } : undefined),
			...(cancel ? { cancel: cancelView(cancel) } : undefined),
			createdBy: flow.createdBy,
			createdAt: flow.createdAt,
			...(flow.endedAt ? { endedAt: flow.endedAt } : undefined),
		};
	}

	/** All of it. */
	async view(flow: FlowRecord): Promise<FlowView> {
		const nodes: FlowNode[] = [];
		const edges: FlowEdge[] = [];
		const members = await this.members(flow);
		const keys = new Map(members.map(({ key, executionId }) => [executionId, key]));
		for (let from = 0; from < members.length; from += READ_AT_ONCE) {
			const page = members.slice(from, from + READ_AT_ONCE);
			for (const record of await this.records(flow, page)) {
				nodes.push(nodeView(record));
				if (record.member?.hasLinks) edges.push(...(await this.#edgesOf(record, keys)));
			}
		}
		return { ...(await this.summary(flow)), nodes, edges };
	}

	/** Every member, by its number. */
	async members({ id, nodes }: FlowRecord): Promise<FlowMemberEntry[]> {
		const pages = Math.ceil(nodes / MEMBERS_PER_PAGE);
		const keys = Array.from({ length: pages }, (_, page) => flowMembersKey(id, page));
		const found = await this.#records<FlowMembersRecord>(this.runnerOf(id), keys);
		return found.flatMap((page) => page?.members ?? []);
	}

	async records({ id }: FlowRecord, members: readonly FlowMemberEntry[]): Promise<ExecutionRecord[]> {
		const keys = members.map(({ executionId }) => executionKey(executionId));
		const found = await this.#records<ExecutionRecord>(this.runnerOf(id), keys);
		return found.filter((record) => record !== undefined);
	}

	/** Which members lead to which. */
	async downstream(flow: FlowRecord): Promise<Map<string, string[]>> {
		const downstream = new Map<string, string[]>();
		const members = await this.members(flow);
		for (let from = 0; from < members.length; from += READ_AT_ONCE)
			for (const record of await this.records(flow, members.slice(from, from + READ_AT_ONCE)))
				if (record.member?.hasLinks)
					downstream.set(record.id, (await this.#outEdges(record.id)).map(({ to }) => to));
		return downstream;
	}

	async #edgesOf({ id, member }: ExecutionRecord, keys: ReadonlyMap<string, string>): Promise<FlowEdge[]> {
		return (await this.#outEdges(id)).map(({ id: edgeId, to, on, passResultAs, state = "pending" }) => ({
			id: edgeId,
			from: member?.key ?? "",
			to: keys.get(to) ?? "",
			on,
			...(passResultAs === undefined ? undefined : { passResultAs }),
			state,
		}));
	}

	async #outEdges(executionId: string): Promise<OutEdge[]> {
		const runner = this.#session.runnerOf(executionId);
		const [first] = await this.#records<LinksRecord>(runner, [linksKey(executionId)]);
		const pages = Math.ceil((first?.outs ?? 0) / LINKS_PER_PAGE);
		const more = Array.from({ length: Math.max(0, pages - 1) }, (_, n) => linksKey(executionId, n + 1));
		const rest = await this.#records<LinksRecord>(runner, more);
		return [first, ...rest].flatMap((page) => page?.out ?? []);
	}

	/** In the order of the keys; what is not there, or cannot be read, is undefined. */
	async #records<R extends object>(runner: PartitionRunner, keys: readonly string[]): Promise<(R | undefined)[]> {
		if (keys.length === 0) return [];
		const { records } = await runner.ask((store, partition) => store.read(partition, [...keys]));
		return records.map((stored) => (stored.version > 0 ? this.#session.decodeReadable<R>(stored) : undefined));
	}
}

function cancelView({ policy, mode, reason, requestedAt }: NonNullable<FlowRecord["cancel"]>) {
	return { policy, mode, ...(reason === undefined ? undefined : { reason }), requestedAt };
}

function nodeView(record: ExecutionRecord): FlowNode {
	const { member, startedAt, completedAt } = record;
	return {
		key: member?.key ?? "",
		executionId: record.id,
		kind: record.kind,
		publicState: publicState(record),
		group: groupView(member?.group),
		...(startedAt ? { startedAt } : undefined),
		...(completedAt ? { completedAt } : undefined),
	};
}

function groupView(group: Group | undefined): FlowNode["group"] {
	const { policy = "all_of", quorum = 1, cancelsRemaining, edges = 0, satisfied = 0, impossible = 0 } = group ?? {};
	return {
		policy: policy === "quorum" ? { quorum } : policy,
		onSatisfied: cancelsRemaining ? "cancel_remaining" : "let_run",
		edges,
		satisfied,
		impossible,
	};
}
