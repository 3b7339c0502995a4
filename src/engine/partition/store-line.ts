import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { type Store, StoreError } from "../../store/port.ts";
import { StoreTime } from "./store-time.ts";

const RETRY_MIN_MS = 20;
const RETRY_MAX_MS = 2000;
/**
 * How long a caller waits for the store. A little less than the 30 s in which a server answers: what is told of the store
 * says more than that time is over.
 */
export const CALL_TIMEOUT_MS = 28_000;
/** How long somebody waits who can turn to another partition instead, or has it done again later. */
export const PARTITION_PATIENCE_MS = 5000;
/** A gap in hearing the store from here on gives lease holders time to renew. */
const OUTAGE_MS = 1000;

export interface StoreLineOptions {
	store: Store;
	partition: number;
	clock: Clock;
	random: () => number;
}

/** The line to one partition of the store: what time it is there, and since when it can be heard. */
export class StoreLine {
	readonly time: StoreTime;
	/** Store time since when this partition could be written without a gap. */
	writableSince = 0;
	/** How often writing has begun: at the start, and after every outage. */
	openings = 0;
	readonly #options: StoreLineOptions;
	#troubleSince: number | undefined;
	/** Since when every write has failed. It may be read as ever meanwhile, as on a full disk. */
	#refusingSince: number | undefined;
	/** When the latest question was asked that it has answered, and what was wrong with what was asked after that. */
	#answeredFrom = Number.NEGATIVE_INFINITY;
	#failure: unknown;

	constructor(options: StoreLineOptions) {
		this.#options = options;
		this.time = new StoreTime(() => options.clock.monotonic());
	}

	async ask<T extends { time: number }>(question: (store: Store, partition: number) => Promise<T>): Promise<T> {
		const { store, partition, clock } = this.#options;
		const sentAt = clock.monotonic();
		let answer: T;
		try {
			answer = await question(store, partition);
		} catch (error) {
			this.#failure = error;
			throw error;
		}
		this.time.hear(answer.time, sentAt);
		// An answer that was long on its way says that the store was there, not that it still is.
		this.#answeredFrom = Math.max(this.#answeredFrom, sentAt);
		this.#failure = undefined;
		// A store may wait for its servers by itself: what others asked of it has waited as long.
		if (clock.monotonic() - sentAt > OUTAGE_MS) this.opened();
		return answer;
	}

	/** The same for somebody who does not wait for ever, whatever the store does. */
	askWithin<T extends { time: number }>(
		question: (store: Store, partition: number) => Promise<T>,
		ms = CALL_TIMEOUT_MS,
	): Promise<T> {
		return new Promise((resolve, reject) => {
			const disarm = this.#options.clock.setTimer(ms, () => {
				this.#failure = new StoreError(`no answer within ${ms} ms`, { applied: "no", passing: true });
				reject(this.#failure);
			});
			this.ask(question).finally(disarm).then(resolve, reject);
		});
	}

	/** Whether the store has answered what was asked since a monotonic time, and nothing has failed after that. */
	isHeardSince(at: number): boolean {
		return this.#answeredFrom >= at && this.#failure === undefined;
	}

	/** What was wrong with what was asked last; undefined when it was answered. */
	get failure(): unknown {
		return this.#failure;
	}

	/** How long nothing has worked, in milliseconds. */
	get trouble(): number {
		return this.#troubleSince === undefined ? 0 : this.#options.clock.monotonic() - this.#troubleSince;
	}

	/** Writing is possible from now on. */
	opened(): void {
		this.writableSince = this.time.now();
		this.openings += 1;
	}

	worked(): void {
		if (this.#troubleSince === undefined) return;
		if (this.trouble > OUTAGE_MS) this.opened();
		this.#troubleSince = undefined;
	}

	/** Whether the latest write failed. */
	get isRefusing(): boolean {
		return this.#refusingSince !== undefined;
	}

	/** Something was written. That it could be read does not say that it could have been. */
	written(): void {
		const { clock } = this.#options;
		if (this.#refusingSince !== undefined && clock.monotonic() - this.#refusingSince > OUTAGE_MS) this.opened();
		this.#refusingSince = undefined;
		this.worked();
	}

	/** Something could not be written. */
	refused(): void {
		this.#refusingSince ??= this.#options.clock.monotonic();
		this.failed();
	}

	failed(): void {
		this.#troubleSince ??= this.#options.clock.monotonic();
	}

	/** Before the next try: longer each time, and spread, so that engines do not come back all at once. */
	pause(tries: number): Promise<void> {
		const { clock, random } = this.#options;
		const ms = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(tries, 10)) * (0.5 + random() / 2);
		return new Promise((resolve) => {
			clock.setTimer(ms, resolve);
		});
	}
}

/** What a caller is told when the store did not do as asked; of a damaged file, which one it is and what to do. */
export function storeRefusal(error: unknown): FlowFabricError {
	const code = error instanceof StoreError ? error.code : "store_unavailable";
	const said = code === "store_corrupt" ? { message: (error as StoreError).message } : undefined;
	return new FlowFabricError(code, { ...said, cause: error });
}

/** What a caller is told whose time is over before the store has said what became of the command. */
export function unanswered(applied: "no" | "unknown", cause: unknown): Error {
	const fate = applied === "no" ? "has not been done and will not be" : "may have been done, or may be yet";
	return new FlowFabricError("store_unavailable", {
		message: `the store has not answered in time; what was asked ${fate}`,
		details: { applied },
		cause,
	});
}
