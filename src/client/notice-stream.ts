import type { WorkerNotice } from "../contract/replies.ts";
import { EVENT_STREAM, SseReader } from "./sse-reader.ts";
import { pauseAfter, type Transport } from "./transport.ts";

/**
 * Listens for one worker instance, over any number of connections. What is said while none stands is not said again, but
 * a renewal tells the same: `onResumed` says when it is time for one.
 */
export class NoticeStream {
	/** Settles when the first connection stands, or could not be made. Never rejects. */
	readonly ready: Promise<void>;
	readonly #transport: Transport;
	readonly #path: string;
	readonly #listener: (notice: WorkerNotice) => void;
	readonly #onResumed: (() => void) | undefined;
	readonly #stopped = new AbortController();
	#isReady = () => {};

	constructor(
		transport: Transport,
		instanceId: string,
		listener: (notice: WorkerNotice) => void,
		onResumed?: () => void,
	) {
		this.#transport = transport;
		this.#path = `/v1/workers/${encodeURIComponent(instanceId)}/notices`;
		this.#listener = listener;
		this.#onResumed = onResumed;
		this.ready = new Promise((resolve) => (this.#isReady = resolve));
		void this.#listen();
	}

	stop(): void {
		this.#stopped.abort();
	}

	async #listen(): Promise<void> {
		const { signal } = this.#stopped;
		let isFirst = true;
		for (let tries = 0; !signal.aborted && !this.#transport.closed; tries++) {
			const reader = new SseReader(({ type, data }) => {
				if (type !== "close" && !signal.aborted) this.#listener(JSON.parse(data) as WorkerNotice);
			});
			try {
				await this.#transport.stream({ method: "GET", path: this.#path, headers: EVENT_STREAM }, signal, {
					opened: () => {
						tries = 0;
						this.#isReady();
						if (!isFirst) this.#onResumed?.();
						isFirst = false;
					},
					received: (chunk) => reader.push(chunk),
				});
			} catch {
				// Whatever it was, the way there may be free again at the next try; renewals go on meanwhile.
			}
			this.#isReady();
			await this.#transport.pause(pauseAfter(tries), signal).catch(() => {});
		}
		this.#isReady();
	}
}
