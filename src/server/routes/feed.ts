import type { FastifyReply, FastifyRequest } from "fastify";
import { FlowFabricError } from "../../contract/errors.ts";
import { feedRequest, MAX_FEED_WAIT_MS } from "../../contract/feed.ts";
import { eventPage } from "../../contract/replies/events.ts";
import { invalid } from "../errors.ts";
import { waiting } from "../pending-call.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { Tail } from "../sse.ts";
import { waitInQuery, wantsStream } from "./execution-waits.ts";
import { inArea, type Route } from "./route.ts";

export function feedRoutes(context: ServerContext): Route[] {
	return inArea("events", [
		{
			name: "GET /v1/events",
			summary: "What happened in a namespace since a cursor; with Accept: text/event-stream as it happens",
			query: feedRequest,
			replies: { 200: eventPage },
			waitMs: waitInQuery,
			streams: true,
			handle: (request, reply) =>
				wantsStream(request) ? stream(context, request, reply) : page(context, request, reply),
		},
	]);
}

async function page(
	context: ServerContext,
	{ principal, query }: FastifyRequest,
	reply: FastifyReply,
): Promise<unknown> {
	const request = readQuery(query, feedRequest);
	const { feed } = principal.backend;
	if (!request.waitMs) return feed.read(request);
	return waiting(context, reply, {
		wait: (signal) => feed.read(request, signal),
		now: () => feed.read({ ...request, waitMs: 0 }),
	});
}

/** A page at a time; its last event carries the cursor behind it, so a reader that comes back may see a few again. */
async function stream(
	context: ServerContext,
	{ principal, query, headers }: FastifyRequest,
	reply: FastifyReply,
): Promise<void> {
	const { limit, waitMs, ...request } = readQuery(query, feedRequest);
	if (limit !== undefined || waitMs !== undefined) {
		throw invalid(limit === undefined ? "waitMs" : "limit", "is for pages, not for a stream");
	}
	const seen = headers["last-event-id"];
	if (typeof seen === "string" && seen !== "") request.cursor = seen;
	const { feed } = principal.backend;
	// Refused before the stream begins, while there is still a status to refuse with.
	let { events, nextCursor } = await feed.read(request);
	context.pools.event_tails.take();
	const tail = new Tail(reply, context.tails, events.length === 0 ? nextCursor : undefined);
	try {
		while (!tail.signal.aborted) {
			events.forEach((event, n) => {
				tail.send(event.type, event, n === events.length - 1 ? nextCursor : undefined);
			});
			await tail.drained();
			({ events, nextCursor } = await feed.read(
				{ ...request, cursor: nextCursor, waitMs: MAX_FEED_WAIT_MS },
				tail.signal,
			));
		}
	} catch (error) {
		tail.end(error instanceof FlowFabricError ? error : new FlowFabricError("internal"));
	} finally {
		context.pools.event_tails.give();
	}
}
