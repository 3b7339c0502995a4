import type { FastifyRequest } from "fastify";
import type { Calls } from "../../contract/backend.ts";
import * as replies from "../../contract/replies/waitpoints.ts";
import { Type } from "../../contract/schema.ts";
import { shape } from "../../contract/validate.ts";
import * as shapes from "../../contract/waitpoints.ts";
import { onExecution } from "../audit.ts";
import { SIGNAL_LIMIT } from "../bodies.ts";
import { readQuery } from "../query.ts";
import { sendInTurns } from "../written-json.ts";
import { idOf, inArea, type Route } from "./route.ts";

const waitpointOf = ({ params }: FastifyRequest): string => (params as { wp: string }).wp;

const { token, name, idempotencyKey } = shapes.callbackRequest.schema.properties;
const callbackQuery = shape(
	Type.Object({ token, name, idempotencyKey }, { additionalProperties: false, allowed: "must be an object" }),
);

/** `anyone` is the interface as those see it who have nothing but the token of a waitpoint. */
export function waitpointRoutes(anyone: Calls): Route[] {
	return inArea("waitpoints", [
		{
			name: "GET /v1/waitpoints",
			summary: "Waitpoints at which executions wait, across executions, longest first",
			query: shapes.inboxRequest,
			replies: { 200: replies.inboxPage },
			handle: async ({ principal, query }, reply) =>
				sendInTurns(reply, await principal.backend.waitpoints.inbox(readQuery(query, shapes.inboxRequest))),
		},
		{
			name: "GET /v1/executions/:id/waitpoints",
			summary: "The open waitpoints of an execution, or all of them, in the order they were created",
			query: shapes.waitpointsRequest,
			replies: { 200: replies.waitpointPage },
			handle: (request) =>
				request.principal.backend.waitpoints.list(idOf(request), readQuery(request.query, shapes.waitpointsRequest)),
		},
		{
			name: "GET /v1/executions/:id/waitpoints/:wp/token",
			summary: "The token of a waitpoint, signed with the current key, and its callback URL",
			replies: { 200: replies.waitpointToken },
			handle(request, reply) {
				reply.header("cache-control", "no-store");
				return request.principal.backend.waitpoints.token(idOf(request), waitpointOf(request));
			},
		},
		{
			name: "GET /v1/executions/:id/signals",
			summary: "Signals an execution has received, in the order they arrived",
			query: shapes.signalsRequest,
			replies: { 200: replies.signalPage },
			async handle(request, reply) {
				const page = readQuery(request.query, shapes.signalsRequest);
				return sendInTurns(reply, await request.principal.backend.waitpoints.signals(idOf(request), page));
			},
		},
		{
			name: "POST /v1/executions/:id/signals",
			summary: "Send a signal with the token of its waitpoint; no other token is needed",
			body: shapes.signalRequest.schema,
			bodyLimit: SIGNAL_LIMIT,
			replies: { 200: replies.signalReply },
			handle: (request) => anyone.waitpoints.signal(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/callbacks/:wp",
			summary: "The body is sent as a signal to the waitpoint; only the waitpoint's own token is needed",
			query: callbackQuery,
			takesBytes: true,
			bodyLimit: SIGNAL_LIMIT,
			replies: { 200: replies.signalReply },
			handle(request) {
				const { "content-type": contentType } = request.headers;
				const said = readQuery(request.query, callbackQuery);
				return anyone.waitpoints.callback(waitpointOf(request), {
					...(said as Required<typeof said>),
					...(contentType === undefined ? undefined : { contentType }),
					bytes: (request.body as Buffer | undefined) ?? new Uint8Array(),
				});
			},
		},
		{
			name: "POST /v1/executions/:id/approve",
			summary: "Send a signal as an operator, without the token of the waitpoint",
			body: shapes.approveRequest.schema,
			bodyLimit: SIGNAL_LIMIT,
			replies: { 200: replies.signalReply },
			audit: {
				...onExecution("approve"),
				result: (answer) => ({ effect: (answer as { effect: string }).effect }),
			},
			handle: (request) => request.principal.backend.waitpoints.approve(idOf(request), request.body as never),
		},
		{
			name: "POST /v1/executions/:id/resume",
			summary: "Resume suspended work, whatever it waits for",
			body: shapes.resumeRequest.schema,
			bodyOptional: true,
			replies: { 200: replies.resumed },
			audit: onExecution("resume"),
			handle: (request) =>
				request.principal.backend.waitpoints.resume(
					idOf(request),
					(request.body === undefined ? {} : request.body) as never,
				),
		},
		{
			name: "POST /v1/executions/:id/suspend",
			summary: "Give up the lease until a condition holds; then the same attempt continues",
			body: shapes.suspendRequest.schema,
			replies: { 200: replies.suspended },
			handle(request, reply) {
				reply.header("cache-control", "no-store");
				return request.principal.backend.leases.suspend(idOf(request), request.body as never);
			},
		},
		{
			name: "POST /v1/executions/:id/waitpoints",
			summary: "Open a waitpoint before suspending; while it is open a repeat gives the same one",
			body: shapes.createWaitpointRequest.schema,
			replies: { 200: replies.openedWaitpoint, 201: replies.openedWaitpoint },
			async handle(request, reply) {
				const made = await request.principal.backend.leases.createWaitpoint(idOf(request), request.body as never);
				reply.header("cache-control", "no-store").code(made.created ? 201 : 200);
				return made;
			},
		},
	]);
}
