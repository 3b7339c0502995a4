import type { FollowOptions } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { eventsRequest } from "../contract/executions.ts";
import type { FollowedEvent, ProgressNotice } from "../contract/replies.ts";
import { openStream } from "./open-stream.ts";
import type { StreamEvent } from "./sse-reader.ts";
import { pauseAfter, type Transport } from "./transport.ts";

/** What a stream of events holds besides them. */
type Message = { followed: FollowedEvent } | { progress: ProgressNotice } | "end";

/**
 * Follows a history over any number of connections: each goes on behind the last event that was seen. A stream that says so
 * has told all there is.
 */
export async function* followEvents(
	transport: Transport,
	path: string,
	options: FollowOptions,
): AsyncGenerator<FollowedEvent> {
	const { signal, onProgress, ...request } = options;
	let { cursor } = eventsRequest.check(request);
	let heardAt = transport.clock.monotonic();
	for (let tries = 0; !signal?.aborted; tries++) {
		const stream = openStream<Message>(transport, path, cursor, signal, messageOf);
		try {
			for await (const message of stream.events) {
				if (message === "end") return;
				tries = 0;
				if ("progress" in message) onProgress?.(message.progress);
				else {
					cursor = message.followed.cursor;
					yield message.followed;
				}
			}
		} catch (error) {
			if (signal?.aborted) return;
			if (stream.opened()) heardAt = transport.clock.monotonic();
			const lasting = transport.clock.monotonic() - heardAt > transport.timeoutMs;
			if (!(error instanceof FlowFabricError) || !error.retryable || lasting || transport.closed) throw error;
		} finally {
			stream.stop();
		}
		await transport.pause(pauseAfter(tries)).catch(() => {});
	}
}

function messageOf({ type, data, id }: StreamEvent): Message {
	if (type === "end") return "end";
	const told: unknown = JSON.parse(data);
	if (type === "progress") return { progress: told as ProgressNotice };
	return { followed: { cursor: id ?? "", event: told as FollowedEvent["event"] } };
}
