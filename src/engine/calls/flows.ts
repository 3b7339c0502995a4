import type { FlowCalls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { type EventsRequest, eventsRequest, waitRequest } from "../../contract/executions.ts";
import { DEFAULT_LIMIT } from "../../contract/fields.ts";
import {
	type CancelFlowRequest,
	type CreateFlowRequest,
	cancelFlowRequest,
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
import { flowKey } from "../../kernel/records/flow.ts";
import { logSubject } from "../../store/port.ts";
import { FlowBuilder } from "../flows/flow-builder.ts";
import { FlowCanceller } from "../flows/flow-canceller.ts";
import { listFlows } from "../flows/flow-listing.ts";
import { FlowReader } from "../flows/flow-reader.ts";
import { givenGroup, type NodeOfFlow, nodeOfFlow } from "../flows/given-flow.ts";
import { MemberKeys } from "../flows/member-keys.ts";
import { submissionAt } from "./create-together.ts";
import type { Session } from "./session.ts";
import { watch } from "./watching.ts";

/** Commands about one flow, whose id says where they run. */
type FlowOp = { [O in Op]: CommandOf<O> extends FlowTarget ? O : never }[Op];

/** Flows on an engine in this process. */
export class LocalFlows implements FlowCalls {
	readonly #session: Session;
	readonly #reader: FlowReader;
	readonly #keys: MemberKeys;
	readonly #builder: FlowBuilder;
	readonly #canceller: FlowCanceller;

	constructor(session: Session) {
		this.#session = session;
		this.#reader = new FlowReader(session);
		this.#keys = new MemberKeys(session);
		this.#builder = new FlowBuilder(session, this.#reader, this.#keys);
		this.#canceller = new FlowCanceller(session, this.#reader);
	}

	async create(request: CreateFlowRequest): Promise<CreatedFlow> {
		this.#session.engine.refuseIfClosed();
		return this.#builder.create(request);
	}

	async get(id: string): Promise<FlowView> {
		return this.#reader.view(id);
	}

	async list(request: FlowsPageRequest = {}): Promise<FlowPage> {
		const { limit = DEFAULT_LIMIT, cursor, ...filter } = flowsPageRequest.check(request);
		return listFlows(this.#session, this.#reader, filter, limit, cursor);
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<FlowSummary> {
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		const { partition } = engine.runnerOfFlow(id);
		return watch(this.#session, { partition, subject: flowKey(id) }, { timeoutMs, signal }, async (isLast) => {
			const { outcome } = await this.#reader.read(id);
			return isLast || outcome !== "" ? this.#reader.summary(id) : undefined;
		});
	}

	async events(id: string, request: EventsRequest = {}, signal?: AbortSignal): Promise<EventPage> {
		const { limit = DEFAULT_LIMIT, cursor, waitMs = 0 } = eventsRequest.check(request);
		const { cursors } = this.#session.engine;
		const list = `history of ${id}`;
		const runner = this.#session.engine.runnerOfFlow(id);
		const { namespace } = await this.#reader.read(id);
		const after = await cursors.afterEvent(list, cursor);
		// What happens to a member changes no record of its flow; but it is told of in the log of the namespace.
		const watched = { partition: runner.partition, subject: logSubject(namespace) };
		const events = await watch(this.#session, watched, { timeoutMs: waitMs, signal }, async (isLast) => {
			await this.#reader.read(id);
			const page = await runner.ask((store, partition) => store.events(partition, namespace, id, after, limit));
			return isLast || page.events.length > 0 ? page.events : undefined;
		});
		return {
			events: this.#session.decodeReadableEvents(events),
			nextCursor: await cursors.atEvent(list, events.at(-1) ?? after),
		};
	}

	async addMember(id: string, node: NodeRequest): Promise<AddedMember> {
		const flow = await this.#reader.read(id);
		const { engine } = this.#session;
		const context = { ...submissionAt(this.#session), slot: trustedSlot(id), wantsHash: true };
		const given = nodeOfFlow(node, flow, context);
		await engine.guards.directory.check(given.work);
		engine.nameLimits.check(context.slot % context.partitions, given.work);
		const added = await this.#addMember(id, given);
		if (added.created) engine.flowGraphs.grew(id, added.revision);
		// Of two who add the same at once, the key must stand for the one that was.
		else await this.#keys.hold(id, [{ ...given, work: { ...given.work, executionId: added.executionId } }]);
		return added;
	}

	async #addMember(flowId: string, node: NodeOfFlow): Promise<AddedMember> {
		const { actor } = this.#session.caller;
		try {
			await this.#keys.hold(flowId, [node]);
			const { ok: _, ...added } = await this.#run("addMember", { op: "addMember", flowId, node, actor });
			return added;
		} catch (error) {
			// What was refused is not there; of anything else that is not known.
			if (error instanceof FlowFabricError && !error.retryable) await this.#keys.free([node]);
			throw error;
		}
	}

	async addEdge(id: string, edge: EdgeRequest): Promise<AddedEdge> {
		const { from, to, on = "success", passResultAs, expectedRevision } = edgeRequest.check(edge);
		const { upstream, downstream, ...cycle } = await this.#closesCycle(id, from, to);
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
			...cycle,
			actor: caller.actor,
		});
		if (added.created) engine.flowGraphs.grew(id, added.revision, { from: upstream, to: downstream });
		return added;
	}

	/** The graph is read for it, but not by the rule: whether it is still the same is told by its revision. */
	async #closesCycle(id: string, from: string, to: string) {
		const flow = await this.#reader.read(id);
		const { revision: graphRevision } = flow;
		const [upstream, downstream] = await this.#reader.executionsOf(id, [from, to]);
		if (upstream === undefined || downstream === undefined)
			return { closesCycle: false, graphRevision, upstream: "", downstream: "" };
		const { flowGraphs } = this.#session.engine;
		const closesCycle = await flowGraphs.closesCycle(this.#reader, flow, upstream, downstream);
		return { closesCycle, graphRevision, upstream, downstream };
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

	async cancel(
		id: string,
		request: CancelFlowRequest,
		{ wait = false }: { wait?: boolean } = {},
		signal?: AbortSignal,
	): Promise<CancelledFlow> {
		return this.#canceller.cancel(id, cancelFlowRequest.check(request), wait, signal);
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
