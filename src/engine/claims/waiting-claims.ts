import type { Clock } from "../../contract/clock.ts";
import { EVERY_LANE } from "../fleet/preferences.ts";
import { accepts, laneName, type Wanted } from "./work-hints.ts";

/** A lane counts as claimed from for this long after its last claim. */
const LATELY_MS = 5000;
const MAX_LANES = 16;

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
	/** When the last claim for a lane left. */
	readonly #leftAt = new Map<string, number>();
	#sleeping = 0;

	constructor(clock: Clock) {
		this.#clock = clock;
	}

	/** How many of them sleep. */
	get sleeping(): number {
		return this.#sleeping;
	}

	/** The lanes somebody claims from here, or did so lately. */
	lanes(): readonly string[] {
		const lanes = new Set<string>();
		for (const { wanted } of this.#waiters) for (const name of laneNames(wanted)) lanes.add(name);
		const since = this.#clock.monotonic() - LATELY_MS;
		for (const [name, leftAt] of this.#leftAt) {
			if (leftAt > since) lanes.add(name);
			else this.#leftAt.delete(name);
		}
		return lanes.size > MAX_LANES ? [EVERY_LANE] : [...lanes].sort();
	}

	enter(wanted: Wanted): Waiter {
		const waiter: Waiter = { wanted, wake: undefined };
		this.#waiters.add(waiter);
		return waiter;
	}

	leave(waiter: Waiter): void {
		this.#waiters.delete(waiter);
		for (const name of laneNames(waiter.wanted)) this.#leftAt.set(name, this.#clock.monotonic());
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

const laneNames = ({ namespace, lanes }: Wanted): string[] => lanes.map((lane) => laneName(namespace, lane));
