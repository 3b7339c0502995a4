import type { FeedCalls } from "../../contract/backend.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { type FeedRequest, feedRequest } from "../../contract/feed.ts";
import type { EventPage } from "../../contract/replies.ts";
import { manyMayListen } from "../../contract/signals.ts";
import { logSubject } from "../../store/port.ts";
import { readTrimMark } from "../duties/event-trimmer.ts";
import { decodeFeedCursor, encodeFeedCursor, type FeedPlace, LAST_INDEX, placeAt } from "../reading/feed-cursor.ts";
import { readFeedPage } from "../reading/feed-page.ts";
import type { Session } from "./session.ts";

/** The events of a namespace, from the logs of all partitions. */
export class LocalFeed implements FeedCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async read(request: FeedRequest = {}, signal?: AbortSignal): Promise<EventPage> {
		const { namespace: named, cursor = "start", limit = 100, waitMs = 0 } = feedRequest.check(request);
		const namespace = this.#session.namespaceFor(named);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const deadline = engine.clock.monotonic() + waitMs;
		const changes = waitMs > 0 ? this.#listen(namespace, signal) : undefined;
		try {
			const { salt, ...place } = await this.#place(namespace, cursor);
			let { positions } = place;
			for (;;) {
				const asked = { positions, namespace, limit };
				const page = await readFeedPage(engine.runners, engine.kernel, asked, (event) =>
					this.#session.decodeReadableEvent(event),
				);
				positions = page.positions;
				const left = deadline - engine.clock.monotonic();
				if (page.events.length > 0 || page.more || left <= 0 || signal?.aborted || !changes) {
					return {
						events: page.events,
						nextCursor: await encodeFeedCursor(engine.cursors, namespace, { salt, positions }),
					};
				}
				if (engine.closed) throw new FlowFabricError("shutting_down");
				await changes.next(left);
			}
		} finally {
			changes?.stop();
		}
	}

	async #place(namespace: string, cursor: string): Promise<FeedPlace> {
		const { runners, kernel, cursors } = this.#session.engine;
		if (cursor === "start") {
			// From whatever is kept: nothing can be missing behind that.
			const first = { commit: 0, index: 0, since: 0, trimmedBefore: Number.POSITIVE_INFINITY };
			return placeAt(runners.map(() => first));
		}
		if (cursor !== "end") return decodeFeedCursor(cursors, namespace, cursor, runners.length);
		const ends = runners.map(async (runner) => {
			const trimmedBefore = await readTrimMark(runner, kernel);
			const { commit, time } = await runner.ask((store, partition) => store.lastCommit(partition));
			return { commit, index: LAST_INDEX, since: time, trimmedBefore };
		});
		return placeAt(await Promise.all(ends));
	}

	/** Hears of appended events from here on: what comes while a page is read is not slept through. */
	#listen(namespace: string, signal: AbortSignal | undefined) {
		const { watchers, store, runners, clock } = this.#session.engine;
		let wake = () => {};
		let changed = new Promise<void>((resolve) => (wake = resolve));
		const tell = () => wake();
		const subject = logSubject(namespace);
		const stops = [watchers.add(subject, tell), ...runners.map((_, partition) => store.watch(partition, subject))];
		manyMayListen(signal);
		signal?.addEventListener("abort", tell);
		return {
			async next(ms: number): Promise<void> {
				const disarm = clock.setTimer(ms, tell);
				await changed;
				disarm();
				changed = new Promise<void>((resolve) => (wake = resolve));
			},
			stop(): void {
				for (const stop of stops) stop();
				signal?.removeEventListener("abort", tell);
			},
		};
	}
}
