import type { Clock } from "../contract/clock.ts";
import { accepts, type Wanted } from "./work-hints.ts";

/** A claim that is being served. */
export interface Waiter {
	readonly wanted: Wanted;
	/** Ends its sleep; there only while it sleeps. */
	wake: (() => void) | undefined;
}

/** The claims being served now, in the order they came; some of them sleep until there is work. */
export class WaitingClaims {
	readonly #clock: Clock;
	readonly #waiters = new Set<Waiter>();
	#sleeping = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** How many of them sleep. */
	get sleeping(): number {
		return this.#sleeping;
	}

	get size(): number {
		return this.#waiters.size;
	}

	enter(wanted: Wanted): Waiter {
		const waiter: Waiter = { wanted, wake: undefined };
		this.#waiters.add(waiter);
		return waiter;
	}

	leave(waiter: Waiter): void {
		this.#waiters.delete(waiter);
	}

	/** Wakes the one that sleeps longest of those a queue has something for. */
	wakeFor(queue: string): boolean {
		return this.#wakeFirst((wanted) => accepts(wanted, queue));
	}

	/** Wakes the one that sleeps longest of those there is work for. */
	wakeNext(isThereWork: (wanted: Wanted) => boolean): void {
		this.#wakeFirst(isThereWork);
	}

	wakeAll(): void {
		for (const waiter of this.#waiters) waiter.wake?.();
	}

	sleep(waiter: Waiter, ms: number, signal: AbortSignal | undefined): Promise<void> {
		return new Promise((resolve) => {
			const finish = () => {
				if (waiter.wake !== finish) return;
				waiter.wake = undefined;
				this.#sleeping -= 1;
				disarm();
				signal?.removeEventListener("abort", finish);
				resolve();
			};
			const disarm = this.#clock.setTimer(ms, finish);
			signal?.addEventListener("abort", finish);
			waiter.wake = finish;
			this.#sleeping += 1;
		});
	}

	#wakeFirst(fits: (wanted: Wanted) => boolean): boolean {
		if (this.#sleeping === 0) return false;
		for (const waiter of this.#waiters) {
			if (!waiter.wake || !fits(waiter.wanted)) continue;
			waiter.wake();
			return true;
		}
		return false;
	}
}
