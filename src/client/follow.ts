import type { FollowOptions } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { eventsRequest } from "../contract/executions.ts";
import type { FollowedEvent } from "../contract/replies.ts";
import { openStream } from "./open-stream.ts";
import { pauseAfter, type Transport } from "./transport.ts";

/** Follows a history over any number of connections: each goes on behind the last event that was seen. */
export async function* followEvents(
	transport: Transport,
	path: string,
	options: FollowOptions,
): AsyncGenerator<FollowedEvent> {
	const { signal, ...request } = options;
	let { cursor } = eventsRequest.check(request);
	let heardAt = transport.clock.monotonic();
	for (let tries = 0; !signal?.aborted; tries++) {
		const stream = openStream<FollowedEvent>(transport, path, cursor, signal, ({ data, id }) => ({
			cursor: id ?? "",
			event: JSON.parse(data),
		}));
		try {
			for await (const followed of stream.events) {
				cursor = followed.cursor;
				tries = 0;
				yield followed;
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
