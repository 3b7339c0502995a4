import type { FlowCalls } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { type EventsRequest, eventsRequest, MAX_POLL_MS, waitRequest } from "../contract/executions.ts";
import {
	type CancelFlowRequest,
	type CreateFlowRequest,
	type EdgeRequest,
	type FlowsPageRequest,
	flowsPageRequest,
	type GroupRequest,
	type NodeRequest,
} from "../contract/flows.ts";
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
} from "../contract/replies.ts";
import { bodyWith, plainBody, queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

/** How long a cancel may be waited for: the server answers a little before. */
const CANCEL_PATIENCE_MS = 120_000;

/** Flows over HTTP. */
export class RemoteFlows implements FlowCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async create(request: CreateFlowRequest): Promise<CreatedFlow> {
		const repeat = request?.idempotencyKey ? "always" : "undone";
		return this.#transport.json({ method: "POST", path: "/v1/flows", body: flowBody(request), repeat });
	}

	async get(id: string): Promise<FlowView> {
		return this.#transport.json({ method: "GET", path: pathOf(id), repeat: "always" });
	}

	async list(request: FlowsPageRequest = {}): Promise<FlowPage> {
		const path = `/v1/flows${queryOf(flowsPageRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async wait(id: string, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<FlowSummary> {
		const { signal, ...request } = options;
		const { timeoutMs = Number.POSITIVE_INFINITY } = waitRequest.check(request);
		const { clock } = this.#transport;
		const deadline = clock.monotonic() + timeoutMs;
		for (;;) {
			const waitMs = Math.ceil(Math.min(MAX_POLL_MS, Math.max(0, deadline - clock.monotonic())));
			const path = `${pathOf(id)}/wait?timeoutMs=${waitMs}`;
			const flow = await this.#transport.json<FlowSummary>({ method: "GET", path, repeat: "always", waitMs, signal });
			if (flow.endedAt !== undefined || clock.monotonic() >= deadline) return flow;
		}
	}

	async events(id: string, request: EventsRequest = {}, signal?: AbortSignal): Promise<EventPage> {
		const { waitMs = 0, ...page } = eventsRequest.check(request);
		const path = `${pathOf(id)}/events${queryOf({ ...page, waitMs })}`;
		return this.#transport.json({ method: "GET", path, repeat: "always", waitMs, signal });
	}

	async addMember(id: string, node: NodeRequest): Promise<AddedMember> {
		return this.#post(id, "/members", bodyWith("input", node));
	}

	async addEdge(id: string, edge: EdgeRequest): Promise<AddedEdge> {
		return this.#post(id, "/edges", plainBody(edge));
	}

	async setGroup(id: string, node: string, group: GroupRequest): Promise<FlowRevision> {
		const path = `${pathOf(id)}/groups/${encodeURIComponent(node)}`;
		return this.#transport.json({ method: "PUT", path, body: plainBody(group), repeat: "always" });
	}

	async seal(id: string): Promise<FlowRevision> {
		return this.#post(id, "/seal", "{}");
	}

	async cancel(
		id: string,
		request: CancelFlowRequest,
		{ wait = false }: { wait?: boolean } = {},
		signal?: AbortSignal,
	): Promise<CancelledFlow> {
		const path = `${pathOf(id)}/cancel${wait ? "?wait=true" : ""}`;
		const patience = wait ? { waitMs: CANCEL_PATIENCE_MS } : undefined;
		const body = plainBody(request);
		return this.#transport.json({ method: "POST", path, body, repeat: "always", signal, ...patience });
	}

	async delete(id: string): Promise<{ deleted: true }> {
		return this.#transport.json({ method: "DELETE", path: pathOf(id), repeat: "undone" });
	}

	/** Whatever is added to a flow changes nothing when it is added again. */
	#post<R>(id: string, path: string, body: string): Promise<R> {
		return this.#transport.json({ method: "POST", path: pathOf(id) + path, body, repeat: "always" });
	}
}

const pathOf = (id: string): string => `/v1/flows/${encodeURIComponent(id)}`;

/** What is no data is refused by the node it stands in, as it is in process. */
function flowBody(request: CreateFlowRequest): string {
	if (!Array.isArray(request?.nodes)) return plainBody(request);
	const { nodes, ...rest } = request;
	const texts = nodes.map((node, n) => nodeBody(node, n));
	const head = plainBody(rest).slice(0, -1);
	return `${head}${head === "{" ? "" : ","}"nodes":[${texts.join(",")}]}`;
}

function nodeBody(node: unknown, n: number): string {
	try {
		return bodyWith("input", node);
	} catch (error) {
		if (!(error instanceof FlowFabricError)) throw error;
		const { code, message, details } = error;
		const place = `nodes[${n}]`;
		throw new FlowFabricError(code, {
			message: `${place}.${message}`,
			details: { ...details, field: `${place}.${details.field}` },
		});
	}
}
