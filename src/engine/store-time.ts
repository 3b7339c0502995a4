/**
 * A lower bound of a partition's time between two replies. A reply's time was true before it arrived, so time measured
 * from its arrival never runs ahead of the store: timers fire late by a network's latency, never early.
 */
export class StoreTime {
	#time = 0;
	#heardAt = 0;
	readonly #monotonic: () => number;

	constructor(monotonic: () => number) {
		this.#monotonic = monotonic;
	}

	/** False until the store was heard for the first time. */
	get known(): boolean {
		return this.#time > 0;
	}

	now(): number {
		return Math.floor(this.#time + this.#monotonic() - this.#heardAt);
	}

	/** Takes in a reply's time; `sentAt` is the monotonic time its request left. */
	hear(time: number, sentAt: number): void {
		const heardAt = this.#monotonic();
		const estimate = this.#time + heardAt - this.#heardAt;
		const latestPossible = time + (heardAt - sentAt);
		if (time >= estimate || estimate > latestPossible) {
			this.#time = time;
			this.#heardAt = heardAt;
		}
	}
}
