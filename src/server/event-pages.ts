import type { FastifyReply, FastifyRequest } from "fastify";
import { FlowFabricError } from "../contract/errors.ts";
import { MAX_POLL_MS } from "../contract/executions.ts";
import type { EventPage } from "../contract/replies.ts";
import { tenantOf } from "./auth.ts";
import { invalid } from "./errors.ts";
import type { ServerContext } from "./server-context.ts";
import { Tail } from "./sse.ts";

type ReadPage = (page: { cursor?: string; waitMs?: number }, signal?: AbortSignal) => Promise<EventPage>;

/** A stream has no end and no pages. */
export function refusePaging(limit: number | undefined, waitMs: number | undefined): void {
	if (limit !== undefined || waitMs !== undefined)
		throw invalid(limit === undefined ? "waitMs" : "limit", "is for pages, not for a stream");
}

/** When a stream is over. */
interface StreamEnd {
	/** Whether a page may be the last. */
	mayBeAfter(events: EventPage["events"]): boolean;
	/** What the `end` message says; undefined while there is more to come. */
	read(): Promise<object | undefined>;
}

/**
 * Events as they happen, a page at a time; the last of a page carries the cursor behind it, so a reader that comes back
 * may see a few again.
 */
export async function streamPages(
	context: ServerContext,
	request: FastifyRequest,
	reply: FastifyReply,
	cursor: string | undefined,
	read: ReadPage,
	end?: StreamEnd,
): Promise<void> {
	const seen = request.headers["last-event-id"];
	const from = typeof seen === "string" && seen !== "" ? seen : cursor;
	// Refused before the stream begins, while there is still a status to refuse with.
	let { events, nextCursor } = await read(from === undefined ? {} : { cursor: from });
	const place = context.pools.event_tails.take(tenantOf(request));
	const tail = new Tail(reply, context.tails, events.length === 0 ? nextCursor : undefined);
	place.makeRoom = () => tail.yieldPlace();
	try {
		while (!tail.signal.aborted) {
			events.forEach((event, n) => {
				tail.send(event.type, event, n === events.length - 1 ? nextCursor : undefined);
			});
			await tail.drained();
			const ended = end?.mayBeAfter(events) ? await end.read() : undefined;
			// When it had ended and nothing is behind what was sent, that is all there is.
			const waitMs = ended ? 0 : MAX_POLL_MS;
			({ events, nextCursor } = await read({ cursor: nextCursor, waitMs }, tail.signal));
			if (!ended || events.length > 0) continue;
			tail.send("end", ended);
			tail.finish();
		}
	} catch (error) {
		tail.end(error instanceof FlowFabricError ? error : new FlowFabricError("internal"));
	} finally {
		place.give();
	}
}
