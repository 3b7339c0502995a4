import type { FeedCalls } from "../contract/backend.ts";
import { type FeedRequest, feedRequest } from "../contract/feed.ts";
import type { EventPage } from "../contract/replies.ts";
import { queryOf } from "./bodies.ts";
import type { Transport } from "./transport.ts";

export class RemoteFeed implements FeedCalls {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** A wait that is called off is answered as in process: with where reading goes on, so that nothing is lost. */
	async read(request: FeedRequest = {}, signal?: AbortSignal): Promise<EventPage> {
		const query = feedRequest.check(request);
		const { waitMs = 0, ...page } = query;
		if (waitMs === 0 || !signal) return this.#ask(query);
		let { cursor = "start" } = page;
		// "The end" is a place only once it was asked for.
		if (cursor === "end") cursor = (await this.#ask(page)).nextCursor;
		try {
			return await this.#ask({ ...query, cursor }, signal);
		} catch (error) {
			if (!signal.aborted) throw error;
			return { events: [], nextCursor: cursor };
		}
	}

	#ask(query: FeedRequest, signal?: AbortSignal): Promise<EventPage> {
		const path = `/v1/events${queryOf(query)}`;
		return this.#transport.json({ method: "GET", path, repeat: "always", waitMs: query.waitMs ?? 0, signal });
	}
}
