import type { FollowOptions } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { eventsRequest } from "../contract/executions.ts";
import type { ErrorBody, FollowedEvent } from "../contract/replies.ts";
import { errorFrom } from "./refusals.ts";
import { EVENT_STREAM, SseReader, type StreamEvent } from "./sse-reader.ts";
import { pauseAfter, type Transport } from "./transport.ts";

/** Events read ahead of whoever takes them; beyond it the stream is let go and taken up again from there. */
const MAX_AHEAD = 10_000;

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
		const stream = openStream(transport, path, cursor, signal);
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

const headersFrom = (cursor: string | undefined): Record<string, string> =>
	cursor === undefined ? EVENT_STREAM : { ...EVENT_STREAM, "last-event-id": cursor };

function openStream(transport: Transport, path: string, cursor: string | undefined, signal: AbortSignal | undefined) {
	const controller = new AbortController();
	const queue: FollowedEvent[] = [];
	let isOpen = false;
	let ended: { error?: unknown } | undefined;
	let wake = () => {};
	const end = (error?: unknown) => {
		ended ??= error === undefined ? {} : { error };
		controller.abort();
		wake();
	};
	const take = ({ type, data, id }: StreamEvent) => {
		if (type === "close") return end(errorFrom(JSON.parse(data) as ErrorBody));
		queue.push({ cursor: id ?? "", event: JSON.parse(data) });
		if (queue.length > MAX_AHEAD) end();
		else wake();
	};
	const reader = new SseReader(take);
	const abort = () => end(signal?.reason ?? new Error("aborted"));
	signal?.addEventListener("abort", abort);
	transport
		.stream({ method: "GET", path, headers: headersFrom(cursor) }, controller.signal, {
			opened: () => {
				isOpen = true;
			},
			received: (chunk) => reader.push(chunk),
		})
		.then(() => end(), end);
	const events = async function* () {
		for (;;) {
			for (let next = queue.shift(); next; next = queue.shift()) yield next;
			if (ended) {
				if (ended.error !== undefined) throw ended.error;
				return;
			}
			await new Promise<void>((resolve) => (wake = resolve));
		}
	};
	return {
		events: events(),
		opened: () => isOpen,
		stop() {
			signal?.removeEventListener("abort", abort);
			end();
		},
	};
}
