import type { Clock } from "../contract/clock.ts";
import { turn } from "./bounded.ts";

/** Bytes that are taken apart in one turn; what is larger has a turn of its own. */
const BYTES_PER_TURN = 128 * 1024;

/**
 * Turns of the event loop for bytes that are to be read as values: of the smallest values a megabyte takes long. Whoever
 * reads waits here first, one behind the other, and others come in between.
 */
export class OwnTurns {
	readonly #clock: Clock;
	#last: Promise<void> = Promise.resolve();
	#bytes = 0;
	#waiting = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** Nobody waits for a turn. */
	get idle(): boolean {
		return this.#waiting === 0;
	}

	/** Resolves when so many bytes may be read. */
	before(bytes: number): Promise<void> {
		this.#bytes += bytes;
		if (this.#bytes > BYTES_PER_TURN) {
			this.#bytes = bytes;
			this.#waiting += 1;
			this.#last = this.#last
				.then(() => turn(this.#clock))
				.then(() => {
					this.#waiting -= 1;
				});
		}
		return this.#last;
	}
}
