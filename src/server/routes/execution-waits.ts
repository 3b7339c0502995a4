import type { FastifyReply, FastifyRequest } from "fastify";
import type { FollowOptions } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { eventsRequest, MAX_POLL_MS } from "../../contract/executions.ts";
import { integer } from "../../contract/fields.ts";
import { Type } from "../../contract/schema.ts";
import { shape } from "../../contract/validate.ts";
import { tenantOf } from "../auth.ts";
import { refusePaging } from "../event-pages.ts";
import { waiting } from "../pending-call.ts";
import { readQuery } from "../query.ts";
import type { ServerContext } from "../server-context.ts";
import { Tail } from "../sse.ts";
import { idOf } from "./route.ts";

/** Calls about an execution that last until something happens. */

/** One call waits at most this long; whoever wants longer asks again. */
export const waitQuery = shape(
	Type.Object(
		{ timeoutMs: Type.Optional(integer(0, MAX_POLL_MS, "How long to wait (30000)")) },
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

export const waitInQuery = ({ query }: FastifyRequest): unknown => (query as { waitMs?: unknown }).waitMs;

export async function wait(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	const { timeoutMs = MAX_POLL_MS } = readQuery(request.query, waitQuery);
	const { executions } = request.principal.backend;
	const id = idOf(request);
	if (timeoutMs === 0) return executions.wait(id, { timeoutMs });
	return waiting(context, reply, {
		wait: (signal) => executions.wait(id, { timeoutMs, signal }),
		now: () => executions.get(id),
	});
}

export async function events(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
	const query = readQuery(request.query, eventsRequest);
	const { executions } = request.principal.backend;
	if (!query.waitMs) return executions.events(idOf(request), query);
	return waiting(context, reply, {
		wait: (signal) => executions.events(idOf(request), query, signal),
		now: () => executions.events(idOf(request), { ...query, waitMs: 0 }),
	});
}

export const wantsStream = ({ headers }: FastifyRequest): boolean =>
	headers.accept?.includes("text/event-stream") === true;

/**
 * The history as an event stream: each event's id is its cursor, and a reader that comes back names the last it saw. How far
 * the work is comes between them without an id. After the last event of work that has ended, `end` says that this is all.
 */
export async function follow(context: ServerContext, request: FastifyRequest, reply: FastifyReply): Promise<void> {
	const { cursor, limit, waitMs } = readQuery(request.query, eventsRequest);
	refusePaging(limit, waitMs);
	const seen = request.headers["last-event-id"];
	const from = typeof seen === "string" && seen !== "" ? seen : cursor;
	const { executions } = request.principal.backend;
	// Refused before the stream begins, while there is still a status to refuse with.
	await executions.events(idOf(request), { limit: 1, ...(from === undefined ? undefined : { cursor: from }) });
	const place = context.pools.event_tails.take(tenantOf(request));
	const tail = new Tail(reply, context.tails);
	place.makeRoom = () => tail.yieldPlace();
	try {
		const options: FollowOptions = {
			signal: tail.signal,
			onProgress: (progress) => tail.send("progress", progress),
			...(from === undefined ? undefined : { cursor: from }),
		};
		for await (const { cursor: id, event } of executions.follow(idOf(request), options)) {
			tail.send(event.type, event, id);
			await tail.drained();
		}
		tail.send("end", { executionId: idOf(request) });
		tail.finish();
	} catch (error) {
		tail.end(error instanceof FlowFabricError ? error : new FlowFabricError("internal"));
	} finally {
		place.give();
	}
}
