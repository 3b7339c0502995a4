import type { FastifyReply, FastifyRequest } from "fastify";
import { FlowFabricError } from "../../contract/errors.ts";
import * as replies from "../../contract/replies/streams.ts";
import type { FramePage } from "../../contract/replies.ts";
import * as shapes from "../../contract/streams.ts";
import { tenantOf } from "../auth.ts";
import { BODY_LIMIT } from "../bodies.ts";
import { invalid } from "../errors.ts";
import { onceLeft, waiting } from "../pending-call.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { Tail } from "../sse.ts";
import { waitInQuery, wantsStream } from "./execution-waits.ts";
import { idOf, inArea, type Route } from "./route.ts";

/** What handlers tell while they run. */
export function streamRoutes(context: ServerContext): Route[] {
	return inArea("streams", [
		{
			name: "POST /v1/executions/:id/frames",
			summary: "Append to the stream of the attempt; frames with a sequence number are safe to send again",
			body: shapes.appendFramesRequest.schema,
			bodyLimit: BODY_LIMIT,
			replies: { 200: replies.appended },
			handle: (request) => request.principal.backend.leases.appendFrames(idOf(request), request.body as never),
		},
		{
			name: "GET /v1/executions/:id/attempts/:n/stream",
			summary: "A range of frames, oldest first",
			query: shapes.readFramesRequest,
			replies: { 200: replies.framePage },
			handle: (request, reply) =>
				pooled(context, reply, () =>
					request.principal.backend.streams.read(
						idOf(request),
						attemptOf(request),
						readQuery(request.query, shapes.readFramesRequest),
					),
				),
		},
		{
			name: "GET /v1/executions/:id/attempts/:n/stream/tail",
			summary: "Frames after a given one, as soon as there are some; with Accept: text/event-stream live",
			query: shapes.tailFramesRequest,
			replies: { 200: replies.tailedPage },
			waitMs: waitInQuery,
			streams: true,
			handle: (request, reply) =>
				wantsStream(request) ? follow(context, request, reply) : tail(context, request, reply),
		},
		{
			name: "GET /v1/executions/:id/attempts/:n/summary",
			summary: "The summary document of an attempt, with all patches applied",
			replies: { 200: replies.summary },
			handle: (request) => request.principal.backend.streams.summary(idOf(request), attemptOf(request)),
		},
	]);
}

function attemptOf({ params }: FastifyRequest): number {
	const { n } = params as { n: string };
	if (!/^(0|[1-9][0-9]{0,6})$/.test(n)) throw invalid("attempt", "must be the index of an attempt");
	return Number(n);
}

/** The place is held until the answer has left: whoever does not read it may not ask for more of them. */
async function pooled<T>({ pools }: ServerContext, reply: FastifyReply, call: () => Promise<T>): Promise<T> {
	const place = pools.stream_ops.take(tenantOf(reply.request));
	onceLeft(reply, () => place.give());
	const answer = await call();
	// The store cannot be called off. From here on only a slow reader keeps the place, and it may ask again.
	place.makeRoom = () => void reply.raw.destroy();
	return answer;
}

async function tail(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	const query = readQuery(request.query, shapes.tailFramesRequest);
	const { streams } = request.principal.backend;
	const [id, attempt] = [idOf(request), attemptOf(request)];
	const calls = {
		wait: (signal: AbortSignal) => streams.tail(id, attempt, query, signal),
		now: () => streams.tail(id, attempt, { ...query, waitMs: 0 }),
	};
	return waiting(context, reply, calls, context.pools.stream_ops);
}

/** Every frame is an event with its id, so that a reader that comes back names the last it saw. */
async function follow(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const { after, limit, waitMs } = readQuery(request.query, shapes.tailFramesRequest);
	if (limit !== undefined || waitMs !== undefined)
		throw invalid(limit === undefined ? "waitMs" : "limit", "is for pages, not for a stream");
	const seen = request.headers["last-event-id"];
	const named = typeof seen === "string" && seen !== "" ? seen : after;
	const { streams } = request.principal.backend;
	const [id, attempt] = [idOf(request), attemptOf(request)];
	const place = context.pools.stream_tails.take(tenantOf(request));
	try {
		// Refused before the stream begins, while there is still a status to refuse with. The end is fixed here: to a reader
		// that comes back it would be another.
		const { after: end } = await streams.tail(id, attempt, { ...options(named), limit: 1 });
		const tailing = new Tail(reply, context.tails, end);
		place.makeRoom = () => tailing.yieldPlace();
		await sendPages(tailing, streams.follow(id, attempt, { ...options(end ?? named), signal: tailing.signal }));
	} finally {
		place.give();
	}
}

const options = (after: string | undefined): { after?: string } => (after === undefined ? {} : { after });

async function sendPages(tailing: Tail, pages: AsyncIterable<FramePage>): Promise<void> {
	try {
		for await (const { frames, nextFrom, ...closing } of pages) {
			await tailing.sendAll("frame", frames);
			if (closing.closedAt !== undefined && nextFrom === undefined) tailing.send("closed", closing);
		}
		tailing.finish();
	} catch (error) {
		tailing.end(error instanceof FlowFabricError ? error : new FlowFabricError("internal"));
	}
}
