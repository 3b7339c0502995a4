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

	async read(request: FeedRequest = {}, signal?: AbortSignal): Promise<EventPage> {
		const query = feedRequest.check(request);
		const { waitMs = 0, cursor = "start" } = query;
		if (waitMs === 0) return this.#read(query);
		// The end is fixed before the wait: sent again after a break, it would have moved on.
		if (cursor === "end") {
			const { nextCursor } = await this.#read({ ...query, waitMs: 0 });
			return this.read({ ...query, cursor: nextCursor }, signal);
		}
		try {
			return await this.#read(query, signal);
		} catch (error) {
			if (!signal?.aborted) throw error;
			return { events: [], nextCursor: cursor };
		}
	}

	#read(query: FeedRequest, signal?: AbortSignal): Promise<EventPage> {
		const path = `/v1/events${queryOf(query)}`;
		return this.#transport.json({ method: "GET", path, repeat: "always", waitMs: query.waitMs ?? 0, signal });
	}
}
