import { errorFrom } from "../contract/errors.ts";
import type { ErrorBody } from "../contract/replies.ts";
import { manyMayListen } from "../contract/signals.ts";
import { EVENT_STREAM, SseReader, type StreamEvent } from "./sse-reader.ts";
import type { Transport } from "./transport.ts";

/** Events read ahead of whoever takes them; beyond it the stream is let go and taken up again from there. */
const MAX_AHEAD = 10_000;

const headersFrom = (cursor: string | undefined): Record<string, string> =>
	cursor === undefined ? EVENT_STREAM : { ...EVENT_STREAM, "last-event-id": cursor };

/** An event stream as it comes, each event as `read` makes it; goes on behind `cursor`. */
export function openStream<T>(
	transport: Transport,
	path: string,
	cursor: string | undefined,
	signal: AbortSignal | undefined,
	read: (event: StreamEvent) => T,
) {
	const controller = new AbortController();
	const queue: T[] = [];
	let isOpen = false;
	let ended: { error?: unknown } | undefined;
	let wake = () => {};
	const end = (error?: unknown) => {
		ended ??= error === undefined ? {} : { error };
		controller.abort();
		wake();
	};
	const take = (event: StreamEvent) => {
		if (event.type === "close") return end(errorFrom(JSON.parse(event.data) as ErrorBody));
		queue.push(read(event));
		if (queue.length > MAX_AHEAD) end();
		else wake();
	};
	const reader = new SseReader(take);
	const abort = () => end(signal?.reason ?? new Error("aborted"));
	manyMayListen(signal);
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
			while (queue.length > 0) yield queue.shift() as T;
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
		/** Where it came to; undefined when nothing told. */
		lastId: () => reader.lastId,
		stop() {
			signal?.removeEventListener("abort", abort);
			end();
		},
	};
}
