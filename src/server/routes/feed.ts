import type { FastifyReply, FastifyRequest } from "fastify";
import { feedRequest } from "../../contract/feed.ts";
import { eventPage } from "../../contract/replies/events.ts";
import { refusePaging, streamPages } from "../event-pages.ts";
import { waiting } from "../pending-call.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { waitInQuery, wantsStream } from "./execution-waits.ts";
import { inArea, type Route } from "./route.ts";

export function feedRoutes(context: ServerContext): Route[] {
	return inArea("events", [
		{
			name: "GET /v1/events",
			summary: "Events of a namespace since a cursor; with Accept: text/event-stream live",
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

async function stream(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const { limit, waitMs, cursor, ...filter } = readQuery(request.query, feedRequest);
	refusePaging(limit, waitMs);
	const { feed } = request.principal.backend;
	await streamPages(context, request, reply, cursor, (page, signal) => feed.read({ ...filter, ...page }, signal));
}
