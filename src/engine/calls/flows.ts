import type { FlowCalls } from "../../contract/backend.ts";
import { type EventsRequest, eventsRequest, type WaitRequest, waitRequest } from "../../contract/executions.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import {
	type CancelFlowRequest,
	type CreateFlowRequest,
	cancelFlowRequest,
	createFlowRequest,
	type EdgeRequest,
	edgeRequest,
	type FlowsPageRequest,
	flowsPageRequest,
	type GroupRequest,
	groupRequest,
	type NodeRequest,
} from "../../contract/flows.ts";
import type {
	AddedEdge,
	AddedMember,
	CancelledFlow,
	CreatedFlow,
	EventPage,
	FlowPage,
	FlowRevision,
	FlowSummary,
	FlowView,
} from "../../contract/replies.ts";
import type { FlowTarget } from "../../kernel/flows/target.ts";
import { makeId, trustedSlot } from "../../kernel/ids.ts";
import type { CommandOf, Op } from "../../kernel/kernel.ts";
import { DEFAULT_GRACE_MS } from "../../kernel/policy.ts";
import type { FlowRecord } from "../../kernel/records/flow.ts";
import { FlowBuilder } from "../flows/flow-builder.ts";
import { FlowReader } from "../flows/flow-reader.ts";
import { givenGroup, nodeOfFlow } from "../flows/given-flow.ts";
import { submissionAt } from "./create-together.ts";
import type { Session } from "./session.ts";

/** Commands about one flow, whose id says where they run. */
type FlowOp = { [O in Op]: CommandOf<O> extends FlowTarget ? O : never }[Op];

/** Flows on an engine in this process. */
export class LocalFlows implements Partial<FlowCalls> {
	readonly #session: Session;
	readonly #reader: FlowReader;
	readonly #builder: FlowBuilder;

	constructor(session: Session) {
		this.#session = session;
		this.#reader = new FlowReader(session);
		this.#builder = new FlowBuilder(session, this.#reader);
	}

	async create(request: CreateFlowRequest): Promise<CreatedFlow> {
		this.#session.engine.refuseIfClosed();
		return this.#builder.create(createFlowRequest.check(request));
	}

	async get(id: string): Promise<FlowView> {
		return this.#reader.view(await this.#reader.read(id));
	}

	async addMember(id: string, node: NodeRequest): Promise<AddedMember> {
		const flow = await this.#reader.read(id);
		const context = { ...submissionAt(this.#session), slot: trustedSlot(id), wantsHash: true };
		const given = nodeOfFlow(node, flow, context);
		this.#session.engine.nameLimits.check(context.slot % context.partitions, given.work);
		await this.#session.engine.guards.directory.check(given.work);
		const { ok: _, ...added } = await this.#run("addMember", {
			op: "addMember",
			flowId: id,
			node: given,
			actor: this.#session.caller.actor,
		});
		return added;
	}

	async addEdge(id: string, edge: EdgeRequest): Promise<AddedEdge> {
		const { from, to, on = "success", passResultAs, expectedRevision } = edgeRequest.check(edge);
		const flow = await this.#reader.read(id);
		const closesCycle = await this.#closesCycle(flow, from, to);
		const { engine, caller } = this.#session;
		const { ok: _, ...added } = await this.#run("addEdge", {
			op: "addEdge",
			flowId: id,
			edgeId: makeId("ed", engine.mint.next(), trustedSlot(id)),
			from,
			to,
			on,
			...(passResultAs === undefined ? undefined : { passResultAs }),
			expectedRevision,
			closesCycle,
			actor: caller.actor,
		});
		return added;
	}

	async setGroup(id: string, node: string, group: GroupRequest): Promise<FlowRevision> {
		const given = givenGroup(groupRequest.check(group));
		const actor = this.#session.caller.actor;
		const { revision } = await this.#run("setGroup", { op: "setGroup", flowId: id, node, group: given, actor });
		return { revision };
	}

	async seal(id: string): Promise<FlowRevision> {
		const actor = this.#session.caller.actor;
		const { revision } = await this.#run("sealFlow", { op: "sealFlow", flowId: id, actor });
		return { revision };
	}

	async delete(id: string): Promise<{ deleted: true }> {
		await this.#run("deleteFlow", { op: "deleteFlow", flowId: id, actor: this.#session.caller.actor });
		return { deleted: true };
	}

	#run<O extends FlowOp>(op: O, command: CommandOf<O>) {
		const { namespace } = this.#session.caller;
		if (namespace !== undefined) (command as FlowTarget).namespace = namespace;
		const runner = this.#session.engine.runnerOfFlow((command as FlowTarget).flowId);
		return this.#session.runOn(runner, op, command);
	}
}
