import type { FollowFramesOptions, StreamCalls } from "../contract/backend.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { FramePage, FrameView, SummaryView, TailedPage } from "../contract/replies.ts";
import {
	attemptIndex,
	followFramesRequest,
	type ReadFramesRequest,
	readFramesRequest,
	type TailFramesRequest,
	tailFramesRequest,
} from "../contract/streams.ts";
import { queryOf } from "./bodies.ts";
import { pathOf } from "./executions.ts";
import { openStream } from "./open-stream.ts";
import { pauseAfter, type Transport } from "./transport.ts";

/** Streams of attempts over HTTP. */
export class RemoteStreams implements StreamCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	async read(id: string, attempt: number, request: ReadFramesRequest = {}): Promise<FramePage> {
		const path = `${streamPath(id, attempt)}${queryOf(readFramesRequest.check(request))}`;
		return this.#transport.json({ method: "GET", path, repeat: "always" });
	}

	async tail(id: string, attempt: number, request: TailFramesRequest = {}, signal?: AbortSignal): Promise<TailedPage> {
		const given = tailFramesRequest.check(request);
		// The end is fixed before the wait: sent again after a break, it would have moved on.
		if (given.after === "end" && given.waitMs) {
			const page = await this.tail(id, attempt, { ...given, waitMs: 0 }, signal);
			const { after } = page;
			if (after === undefined || page.closedAt !== undefined) return page;
			const waited = await this.tail(id, attempt, { ...given, after }, signal);
			return waited.frames.length === 0 ? { ...waited, after } : waited;
		}
		const path = `${streamPath(id, attempt)}/tail${queryOf(given)}`;
		return this.#transport.json({ method: "GET", path, repeat: "always", waitMs: given.waitMs ?? 0, signal });
	}

	/** Over any number of connections: each goes on behind the last frame that was seen. */
	async *follow(id: string, attempt: number, options: FollowFramesOptions = {}): AsyncGenerator<FramePage> {
		const { signal, ...request } = options;
		let { after = "start" } = followFramesRequest.check(request);
		const path = `${streamPath(id, attempt)}/tail`;
		let heardAt = this.#transport.clock.monotonic();
		for (let tries = 0; !signal?.aborted; tries++) {
			const stream = openStream<FramePage>(this.#transport, `${path}${queryOf({ after })}`, undefined, signal, pageOf);
			try {
				for await (const page of stream.events) {
					after = page.frames.at(-1)?.id ?? after;
					tries = 0;
					yield page;
					if (page.closedAt !== undefined) return;
				}
			} catch (error) {
				if (signal?.aborted) return;
				if (stream.opened()) heardAt = this.#transport.clock.monotonic();
				const isLasting = this.#transport.clock.monotonic() - heardAt > this.#transport.timeoutMs;
				if (!(error instanceof FlowFabricError) || !error.retryable || isLasting || this.#transport.closed) throw error;
			} finally {
				stream.stop();
			}
			// Before the first frame: the end it began at is elsewhere by now.
			if (after === "end") after = stream.lastId() ?? after;
			await this.#transport.pause(pauseAfter(tries)).catch(() => {});
		}
	}

	async summary(id: string, attempt: number): Promise<SummaryView> {
		attemptIndex.check({ attempt });
		return this.#transport.json({ method: "GET", path: pathOf(id, `/attempts/${attempt}/summary`), repeat: "always" });
	}
}

function streamPath(id: string, attempt: number): string {
	attemptIndex.check({ attempt });
	return pathOf(id, `/attempts/${attempt}/stream`);
}

const pageOf = ({ type, data }: { type: string; data: string }): FramePage =>
	type === "frame" ? { frames: [JSON.parse(data) as FrameView] } : { frames: [], ...JSON.parse(data) };
