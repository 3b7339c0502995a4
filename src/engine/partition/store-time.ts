/**
 * A lower bound of a partition's time between two replies. A reply's time was true before it arrived, so time measured
 * from its arrival never runs ahead of the store: timers fire late by a network's latency, never early.
 */
export class StoreTime {
	#time = 0;
	#heardAt = 0;
	#stalled = false;
	readonly #monotonic: () => number;

	constructor(monotonic: () => number) {
		this.#monotonic = monotonic;
	}

	/** False until the store was heard for the first time. */
	get known(): boolean {
		return this.#time > 0;
	}

	now(): number {
		return this.#stalled ? this.#time : Math.floor(this.#time + this.#monotonic() - this.#heardAt);
	}

	/**
	 * The store refused a time that lay ahead of its own: its clock was set back, and it tells its high-water mark until
	 * the clock has caught up. Until it tells more, nothing may be added to what it said.
	 */
	stall(): void {
		this.#stalled = true;
	}

	/**
	 * Takes in a reply's time; `sentAt` is the monotonic time its request left. What nobody asked for may have been under
	 * way for any time: it can only say that it is later than was thought.
	 */
	hear(time: number, sentAt = Number.NEGATIVE_INFINITY): void {
		const heardAt = this.#monotonic();
		if (time > this.#time) this.#stalled = false;
		const estimate = this.#time + heardAt - this.#heardAt;
		const latestPossible = time + (heardAt - sentAt);
		if (time >= estimate || estimate > latestPossible) {
			this.#time = time;
			this.#heardAt = heardAt;
		}
	}
}
