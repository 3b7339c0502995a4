import type { FastifyReply, FastifyRequest } from "fastify";
import { createRequest, eventsRequest, MAX_POLL_MS } from "../../contract/executions.ts";
import * as shapes from "../../contract/flows.ts";
import { eventPage } from "../../contract/replies/events.ts";
import * as replies from "../../contract/replies/flows.ts";
import type { CancelledFlow } from "../../contract/replies.ts";
import { Type } from "../../contract/schema.ts";
import { shape } from "../../contract/validate.ts";
import { MAX_NODES } from "../../kernel/flows/graph.ts";
import { onFlow, onPartOfFlow } from "../audit.ts";
import { BODY_LIMIT, JOINT_LIMIT } from "../bodies.ts";
import { refusePaging, streamPages } from "../event-pages.ts";
import { readFlow } from "../flow-bodies.ts";
import { waiting } from "../pending-call.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { withTrace } from "../submitted-trace.ts";
import { sendInTurns } from "../written-json.ts";
import { waitInQuery, waitQuery, wantsStream } from "./execution-waits.ts";
import { emptyBody, idOf, inArea, orEmpty, type Route } from "./route.ts";

/** What the engine checks node by node, for the docs. */
const nodeBody = Type.Object(
	{ ...shapes.nodeRequest.schema.properties, ...createRequest.schema.properties },
	{ additionalProperties: false },
);

const flowBody = Type.Object(
	{ ...shapes.createFlowRequest.schema.properties, nodes: Type.Array(nodeBody, { maxItems: MAX_NODES }) },
	{ additionalProperties: false },
);

const cancelQuery = shape(
	Type.Object(
		{
			wait: Type.Optional(
				Type.Boolean({
					description: "Answer only when the cancel has reached every member (false)",
					allowed: "must be true or false",
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

export function flowRoutes(context: ServerContext): Route[] {
	return inArea("flows", [
		{
			name: "POST /v1/flows",
			summary: "Create a flow, all or nothing; 200 instead of 201 when its idempotency key led to an earlier one",
			body: flowBody,
			bodyLimit: JOINT_LIMIT,
			replies: { 200: replies.createdFlow, 201: replies.createdFlow },
			async handle(request, reply) {
				const flow = await readFlow(request.body);
				const { nodes } = (flow ?? {}) as { nodes?: unknown };
				if (Array.isArray(nodes)) for (const node of nodes) withTrace(node, request);
				return made(reply, await request.principal.backend.flows.create(flow as never));
			},
		},
		{
			name: "GET /v1/flows",
			summary: "List flows, newest first, without their nodes and edges",
			query: shapes.flowsPageRequest,
			replies: { 200: replies.flowPage },
			handle: async ({ principal, query }, reply) =>
				sendInTurns(reply, await principal.backend.flows.list(readQuery(query, shapes.flowsPageRequest))),
		},
		{
			name: "GET /v1/flows/:id",
			summary: "A flow with its nodes and edges; each node comes after the nodes it waits for",
			replies: { 200: replies.flow },
			handle: async (request, reply) => sendInTurns(reply, await request.principal.backend.flows.get(idOf(request))),
		},
		{
			name: "GET /v1/flows/:id/wait",
			summary: "The flow once it has ended, or its current state when the timeout passes, without its nodes and edges",
			query: waitQuery,
			replies: { 200: replies.flowSummary },
			waitMs: ({ query }) => (query as { timeoutMs?: unknown }).timeoutMs ?? MAX_POLL_MS,
			handle: (request, reply) => wait(context, request, reply),
		},
		{
			name: "GET /v1/flows/:id/events",
			summary:
				"Events of the flow and its members, oldest first; with Accept: text/event-stream live, until it has ended",
			query: eventsRequest,
			replies: { 200: eventPage },
			waitMs: waitInQuery,
			streams: true,
			handle: (request, reply) =>
				wantsStream(request) ? stream(context, request, reply) : events(context, request, reply),
		},
		{
			name: "POST /v1/flows/:id/members",
			summary: "Add a node to an unsealed flow; an identical repeat is 200 and changes nothing",
			body: nodeBody,
			bodyLimit: BODY_LIMIT,
			replies: { 200: replies.addedMember, 201: replies.addedMember },
			audit: onPartOfFlow("flow-member", "key", "kind"),
			async handle(request, reply) {
				const node = withTrace(request.body, request);
				return made(reply, await request.principal.backend.flows.addMember(idOf(request), node as never));
			},
		},
		{
			name: "POST /v1/flows/:id/edges",
			summary: "Add an edge to an unsealed flow; an identical repeat is 200 and changes nothing",
			body: shapes.edgeRequest.schema,
			replies: { 200: replies.addedEdge, 201: replies.addedEdge },
			audit: onPartOfFlow("flow-edge", "from", "to"),
			handle: async (request, reply) =>
				made(reply, await request.principal.backend.flows.addEdge(idOf(request), request.body as never)),
		},
		{
			name: "PUT /v1/flows/:id/groups/:node",
			summary: "Set how many of the edges to a node must be satisfied, and what happens to the other upstreams",
			body: shapes.groupRequest.schema,
			replies: { 200: replies.flowRevision },
			audit: onPartOfFlow("flow-group", "node"),
			handle: (request) =>
				request.principal.backend.flows.setGroup(
					idOf(request),
					(request.params as { node: string }).node,
					request.body as never,
				),
		},
		{
			name: "POST /v1/flows/:id/seal",
			summary: "Seal the flow: it accepts no more members, edges or groups, and can end",
			body: emptyBody.schema,
			bodyOptional: true,
			replies: { 200: replies.flowRevision },
			audit: onFlow("flow-seal"),
			handle(request) {
				emptyBody.check(orEmpty(request.body));
				return request.principal.backend.flows.seal(idOf(request));
			},
		},
		{
			name: "POST /v1/flows/:id/cancel",
			summary: "Cancel; no member starts from then on. 202 when the cancel is scheduled, 200 when its outcome is known",
			query: cancelQuery,
			body: shapes.cancelFlowRequest.schema,
			replies: { 200: replies.cancelledFlow, 202: replies.cancelledFlow },
			untilDone: ({ query }) => (query as { wait?: unknown }).wait === "true",
			audit: onFlow("flow-cancel", (answer) => ({ status: (answer as CancelledFlow).status })),
			handle: (request, reply) => cancel(context, request, reply),
		},
		{
			name: "DELETE /v1/flows/:id",
			summary: "Remove every trace of an ended flow and its members, or of an unsealed one that never ran",
			replies: { 200: Type.Object({ deleted: Type.Literal(true) }) },
			audit: onFlow("flow-delete"),
			handle: (request) => request.principal.backend.flows.delete(idOf(request)),
		},
	]);
}

function made<T extends { created: boolean }>(reply: FastifyReply, answer: T): T {
	reply.code(answer.created ? 201 : 200);
	return answer;
}

async function wait(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	const { timeoutMs = MAX_POLL_MS } = readQuery(request.query, waitQuery);
	const { flows } = request.principal.backend;
	const id = idOf(request);
	const now = () => flows.wait(id, { timeoutMs: 0 });
	if (timeoutMs === 0) return now();
	return waiting(context, reply, { wait: (signal) => flows.wait(id, { timeoutMs, signal }), now });
}

async function events(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	const query = readQuery(request.query, eventsRequest);
	const { flows } = request.principal.backend;
	const id = idOf(request);
	const now = () => flows.events(id, { ...query, waitMs: 0 });
	if (!query.waitMs) return now();
	return waiting(context, reply, { wait: (signal) => flows.events(id, query, signal), now });
}

async function stream(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const { limit, waitMs, cursor } = readQuery(request.query, eventsRequest);
	refusePaging(limit, waitMs);
	const { flows } = request.principal.backend;
	const flowId = idOf(request);
	await streamPages(context, request, reply, cursor, (page, signal) => flows.events(flowId, page, signal), {
		mayBeAfter: (events) => events.length === 0 || events.some(({ type }) => type === "flow_ended"),
		async read() {
			const { endedAt } = await flows.wait(flowId, { timeoutMs: 0 });
			return endedAt === undefined ? undefined : { flowId };
		},
	});
}

async function cancel(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<CancelledFlow> {
	const { wait: isAwaited = false } = readQuery(request.query, cancelQuery);
	const { flows } = request.principal.backend;
	const call = (signal?: AbortSignal) =>
		flows.cancel(idOf(request), request.body as never, { wait: signal !== undefined }, signal);
	// Whoever is not kept waiting to the end is told how far it is: the cancel itself goes on.
	const answer = isAwaited ? await waiting(context, reply, { wait: call, now: () => call() }) : await call();
	reply.code(answer.status === "scheduled" ? 202 : 200);
	return answer;
}
