import type { FastifyReply, FastifyRequest } from "fastify";
import { errorBody } from "../../contract/errors.ts";
import * as shapes from "../../contract/executions.ts";
import { eventPage } from "../../contract/replies/events.ts";
import * as replies from "../../contract/replies/executions.ts";
import { stepPage } from "../../contract/replies/steps.ts";
import type { Bytes, CreatedItem } from "../../contract/replies.ts";
import { Type } from "../../contract/schema.ts";
import { stepsRequest } from "../../contract/steps.ts";
import { ACCESS } from "../access.ts";
import { refuseOtherRoles } from "../auth.ts";
import { BODY_LIMIT, JOINT_LIMIT } from "../bodies.ts";
import { answerJointly } from "../joint-bodies.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { sendList } from "../streamed-list.ts";
import { withTrace } from "../submitted-trace.ts";
import { sendInTurns } from "../written-json.ts";
import { events, follow, wait, waitInQuery, waitQuery, wantsStream } from "./execution-waits.ts";
import { idOf, inArea, type Route } from "./route.ts";

/** Attempts may be large, and work may have any number of them. */
const MOST_ATTEMPT_CHARS = 512 * 1024;

const batchBody = Type.Object(
	{ items: Type.Array(shapes.createRequest.schema, { maxItems: shapes.MAX_BATCH_ITEMS }) },
	{ additionalProperties: false },
);

export function executionRoutes(context: ServerContext): Route[] {
	return inArea("executions", [
		{
			name: "POST /v1/executions",
			summary: "Submit an execution; 200 instead of 201 when its idempotency key led to an earlier one",
			body: shapes.createRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: replies.created, 201: replies.created },
			async handle(request, reply) {
				const made = await request.principal.backend.executions.create(withTrace(request.body, request) as never);
				reply.code(made.created ? 201 : 200);
				return made;
			},
		},
		{
			name: "POST /v1/executions/batch",
			summary: "Submit up to 1000 executions; each item succeeds or fails on its own",
			body: batchBody,
			bodyLimit: JOINT_LIMIT,
			replies: { 200: Type.Object({ items: Type.Array(replies.createdItem) }) },
			async handle(request) {
				const items = await answerJointly<CreatedItem>(request.body, {
					shape: shapes.createManyRequest,
					most: shapes.MAX_BATCH_ITEMS,
					answer(group) {
						for (const item of group) withTrace(item, request);
						return request.principal.backend.executions.createMany(group as never);
					},
					refuse: (error) => ({ ok: false, error: errorBody(error) }),
				});
				return { items };
			},
		},
		{
			name: "GET /v1/executions",
			summary: "List executions, newest first",
			query: shapes.listRequest,
			replies: { 200: replies.executionPage },
			handle: (request, reply) => list(request, reply),
		},
		{
			name: "GET /v1/executions/:id",
			summary: "Read an execution",
			replies: { 200: replies.execution },
			handle: (request) => request.principal.backend.executions.get(idOf(request)),
		},
		{
			name: "GET /v1/executions/:id/input",
			summary: "The input as it was given; 204 when there is none",
			replies: { 200: "bytes", 204: "nothing" },
			async handle(request, reply) {
				const input = await request.principal.backend.executions.input(idOf(request));
				if (input) return sendBytes(reply, input);
				return reply.code(204).send();
			},
		},
		{
			name: "GET /v1/executions/:id/result",
			summary: "The result as it was given",
			replies: { 200: "bytes" },
			handle: async (request, reply) =>
				sendBytes(reply, await request.principal.backend.executions.result(idOf(request))),
		},
		{
			name: "GET /v1/executions/:id/wait",
			summary: "The execution once it has ended, or its current state when the timeout passes",
			query: waitQuery,
			replies: { 200: replies.execution },
			waitMs: ({ query }) => (query as { timeoutMs?: unknown }).timeoutMs ?? shapes.MAX_POLL_MS,
			handle: (request, reply) => wait(context, request, reply),
		},
		{
			name: "GET /v1/executions/:id/events",
			summary: "Its events, oldest first; with Accept: text/event-stream live, with its progress, until it has ended",
			query: shapes.eventsRequest,
			replies: { 200: eventPage },
			waitMs: waitInQuery,
			streams: true,
			handle: (request, reply) =>
				wantsStream(request) ? follow(context, request, reply) : events(context, request, reply),
		},
		{
			name: "GET /v1/executions/:id/explain",
			summary: "Why it is not running, worked out live: its position, what blocks it, which capability nobody offers",
			replies: { 200: replies.explanation },
			handle: (request) => request.principal.backend.executions.explain(idOf(request)),
		},
		{
			name: "GET /v1/executions/:id/attempts",
			summary: "Its attempts in the order they were made",
			query: shapes.attemptsRequest,
			replies: { 200: replies.attemptPage },
			handle: (request, reply) => attempts(request, reply),
		},
		{
			name: "GET /v1/executions/:id/steps",
			summary: "Its recorded steps in the order they were made; with values=true also what they returned",
			query: stepsRequest,
			replies: { 200: stepPage },
			async handle({ principal, query, params }, reply) {
				const request = readQuery(query, stepsRequest);
				// Among them is what signals brought.
				if (request.values) refuseOtherRoles(principal, ACCESS["GET /v1/executions/:id/signals"]);
				const page = await principal.backend.executions.steps((params as { id: string }).id, request);
				return sendInTurns(reply, page);
			},
		},
	]);
}

function list(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
	const { limit = 100, cursor, ...filter } = readQuery(request.query, shapes.listRequest);
	return sendList(reply, { name: "executions", limit, cursor }, async (portion, from) => {
		const page = { ...filter, limit: portion, ...(from === undefined ? undefined : { cursor: from }) };
		const { executions, nextCursor } = await request.principal.backend.executions.list(page);
		return { items: executions, nextCursor };
	});
}

function attempts(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
	const { limit = shapes.MAX_ATTEMPTS_READ, cursor } = readQuery(request.query, shapes.attemptsRequest);
	return sendList(reply, { name: "attempts", limit, cursor, mostChars: MOST_ATTEMPT_CHARS }, async (portion, from) => {
		const page = { limit: portion, ...(from === undefined ? undefined : { cursor: from }) };
		const { attempts, nextCursor } = await request.principal.backend.executions.attemptPage(idOf(request), page);
		return { items: attempts, nextCursor };
	});
}

/** Under the type its writer gave, which may be a page's: a browser saves it and never shows it. */
function sendBytes(reply: FastifyReply, { bytes, contentType }: Bytes): FastifyReply {
	reply.header("content-disposition", "attachment");
	return reply.type(contentType).send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}
