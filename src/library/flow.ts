import type { Backend } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { MAX_POLL_MS } from "../contract/executions.ts";
import type { CancelFlowRequest, CreateFlowRequest, GroupRequest, NodeRequest } from "../contract/flows.ts";
import type { CancelledFlow, CreatedFlow, FlowSummary, FlowView } from "../contract/replies.ts";
import type { AnyEvent } from "../kernel/events.ts";
import type { AnyKinds, Kinds, SubmitArguments } from "./kinds.ts";
import { Run, type WaitOptions } from "./run.ts";
import { continueTrace, copyOf, inputFields, type SubmitOptions } from "./submission.ts";

/** A flow as plain JSON. */
export type FlowRequest = Omit<CreateFlowRequest, "nodes"> & {
	/** Its members: a key, and what a submission says. */
	nodes: NodeRequest[];
};

/** What is said of a flow as a whole. */
export type FlowOptions = Omit<FlowRequest, "kind" | "nodes" | "edges" | "groups">;

/** What a node waits for. */
export interface Upstream extends Omit<NonNullable<CreateFlowRequest["edges"]>[number], "from" | "to"> {
	/** The key of the upstream node. */
	node: string;
}

/** How a node is to be run, and what it waits for. */
export interface NodeOptions extends SubmitOptions {
	/** What it waits for (nothing). A key alone means its success, and its result under that key; said in full, just what is said. */
	after?: readonly (string | Upstream)[];
	/** How many of those must be satisfied (`all_of`), and what becomes of the others (`let_run`). */
	group?: GroupRequest["policy"] | GroupRequest;
}

/** A flow that is being written down. */
export class FlowDraft<K extends Kinds<K> = AnyKinds> {
	readonly #backend: Backend;
	readonly #request: Required<Pick<FlowRequest, "nodes" | "edges" | "groups">> & FlowRequest;

	constructor(backend: Backend, options: Omit<FlowRequest, "nodes" | "edges" | "groups">) {
		this.#backend = backend;
		this.#request = { ...options, nodes: [], edges: [], groups: [] };
	}

	/** Adds a node; those it waits for may come later. */
	node<N extends keyof K & string>(
		key: string,
		kind: N,
		...[input, { after = [], group, ...options } = {}]: SubmitArguments<K[N], NodeOptions>
	): this {
		const { nodes, edges, groups } = this.#request;
		nodes.push(Object.assign(copyOf(options), { key, kind }, inputFields(input)));
		for (const upstream of after) edges.push(edgeTo(key, upstream));
		if (group !== undefined)
			groups.push({ node: key, ...(isWhole(group) ? group : { policy: group as GroupRequest["policy"] }) });
		return this;
	}

	/** The flow as plain JSON. */
	toJSON(): FlowRequest {
		return structuredClone(this.#request);
	}

	/** Makes it, whole or not at all. */
	async start(): Promise<FlowRun> {
		const request = { ...this.#request, nodes: this.#request.nodes.map(copyOf) };
		for (const node of request.nodes) continueTrace(node);
		return new FlowRun(this.#backend, await this.#backend.flows.create(request));
	}
}

function edgeTo(to: string, upstream: string | Upstream): NonNullable<CreateFlowRequest["edges"]>[number] {
	if (typeof upstream === "string") return { from: upstream, to, passResultAs: upstream };
	const { node, ...edge } = upstream;
	return { from: node, to, ...edge };
}

const isWhole = (group: NonNullable<NodeOptions["group"]>): group is GroupRequest =>
	typeof group === "object" && "policy" in group;

/** A flow that was started, to wait for and ask about. */
export class FlowRun {
	/** Id of the flow. */
	readonly id: string;
	/** False when an idempotency key led to a flow that was there already. */
	readonly created: boolean;
	/** Ids of executions by key of node. */
	readonly nodes: Readonly<Record<string, string>>;
	readonly #backend: Backend;

	constructor(backend: Backend, { id, created, nodes }: CreatedFlow) {
		this.#backend = backend;
		this.id = id;
		this.created = created;
		this.nodes = nodes;
	}

	/** The flow once it has ended, or as it is when the time is over. */
	wait(options: WaitOptions = {}): Promise<FlowSummary> {
		return this.#backend.flows.wait(this.id, options);
	}

	/** The flow with its nodes and edges as they are now. */
	graph(): Promise<FlowView> {
		return this.#backend.flows.get(this.id);
	}

	/** No member starts from then on; unless told otherwise, all of them are cancelled. */
	cancel(
		request: Partial<CancelFlowRequest> = {},
		options: {
			/** Wait until every member has been reached (false). */
			wait?: boolean;
		} = {},
	): Promise<CancelledFlow> {
		return this.#backend.flows.cancel(this.id, { policy: "cancel_all", ...request }, options);
	}

	/** The execution of a node. */
	run<R = unknown>(key: string): Run<R> {
		const id = Object.hasOwn(this.nodes, key) ? this.nodes[key] : undefined;
		if (id === undefined) throw new FlowFabricError("unknown_node", { details: { flowId: this.id, node: key } });
		return new Run(this.#backend, { id, created: this.created });
	}

	/** What happens to it and to its members, from the start, as it comes; ends with the flow. */
	async *events({
		signal,
	}: {
		/** Stops following (none). */
		signal?: AbortSignal;
	} = {}): AsyncGenerator<AnyEvent> {
		let cursor: string | undefined;
		let hasEnded = false;
		for (;;) {
			const from = cursor === undefined ? undefined : { cursor };
			// Behind an end there may be a replay.
			const waitMs = hasEnded ? 0 : MAX_POLL_MS;
			const { events, nextCursor } = await this.#backend.flows.events(this.id, { ...from, waitMs }, signal);
			if (hasEnded && events.length === 0) return;
			for (const event of events) {
				if (event.type === "flow_ended") hasEnded = true;
				else if (event.type === "flow_reopened") hasEnded = false;
				yield event;
			}
			cursor = nextCursor;
		}
	}
}
