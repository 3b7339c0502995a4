// Not the global ones: a test may have put fake timers in their place.
import { setImmediate } from "node:timers";
import type { Clock } from "../contract/clock.ts";

interface Timer {
	at: number;
	order: number;
	callback: () => void;
}

const EPOCH = 1_700_000_000_000;
/** Turns of the event loop with nothing to do after which everything is taken to have settled. */
const QUIET_TURNS = 5;

/**
 * Time that passes only when a test says so. Timers wait for it; promises and the store's own work go on as ever, and
 * `settle` waits for them by watching an engine, never by sleeping.
 */
export class VirtualClock implements Clock {
	readonly #epoch: number;
	#time = 0;
	#order = 0;
	#timers: Timer[] = [];
	#busy: () => boolean = () => false;
	#nextEvent: () => Promise<number> = async () => 0;

	constructor(epoch = EPOCH) {
		this.#epoch = epoch;
	}

	/** The store's time. */
	readonly now = (): number => this.#epoch + this.#time;

	monotonic(): number {
		return this.#time;
	}

	setTimer(ms: number, callback: () => void): () => void {
		const timer = { at: this.#time + Math.max(0, ms), order: this.#order++, callback };
		this.#timers.push(timer);
		return () => {
			this.#timers = this.#timers.filter((other) => other !== timer);
		};
	}

	defer(callback: () => void): void {
		setImmediate(callback);
	}

	/** Who to watch for being done. */
	watch(isBusy: () => boolean): void {
		this.#busy = isBusy;
	}

	/**
	 * Lets time pass over routine, such as heartbeats, which then happens once and late: nothing that matters happens
	 * before the moment that `nextEvent` tells.
	 */
	skipRoutine(nextEvent: () => Promise<number>): void {
		this.#nextEvent = nextEvent;
	}

	/** Lets time pass, firing timers in order and letting each take its effect before the next. */
	async advance(ms: number): Promise<void> {
		await this.advanceWhile(ms, () => true);
	}

	/** The same, but stops as soon as `goesOn` says no; says whether all of the time has passed. */
	async advanceWhile(ms: number, goesOn: () => boolean): Promise<boolean> {
		await this.settle();
		const until = this.#time + ms;
		while (goesOn()) {
			const next = Math.max(this.#next()?.at ?? until, (await this.#nextEvent()) - this.#epoch);
			const isLast = next >= until;
			this.#time = isLast ? until : Math.max(this.#time, next);
			await this.settle();
			if (isLast) return true;
		}
		return false;
	}

	/** Fires what is due now and waits until nothing goes on any more. */
	async settle(): Promise<void> {
		for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
			const due = this.#next();
			if (due && due.at <= this.#time) {
				this.#timers = this.#timers.filter((other) => other !== due);
				due.callback();
				quiet = -1;
			}
			await new Promise((resolve) => setImmediate(resolve));
			if (this.#busy()) quiet = -1;
		}
	}

	#next(): Timer | undefined {
		return this.#timers.reduce<Timer | undefined>(
			(best, timer) =>
				!best || timer.at < best.at || (timer.at === best.at && timer.order < best.order) ? timer : best,
			undefined,
		);
	}
}
