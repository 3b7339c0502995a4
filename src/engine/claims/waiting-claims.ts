import type { Clock } from "../../contract/clock.ts";
import { manyMayListen } from "../../contract/signals.ts";
import { EVERY_LANE } from "../fleet/preferences.ts";
import { servesQueue } from "./offers.ts";
import { laneName, laneNameOf, type Wanted } from "./work-hints.ts";

/** A lane counts as claimed from for this long after its last claim. */
const LATELY_MS = 5000;
const MAX_LANES = 16;
/** Lanes remembered as claimed from lately; somebody who names more than so many claims from every lane. */
const MOST_REMEMBERED = 1024;

/** A claim that is being served. */
export interface Waiter {
	readonly wanted: Wanted;
	/** Ends its sleep; there only while it sleeps. */
	wake: (() => void) | undefined;
	/** Queues it was woken for, and where. What is still there when it leaves, somebody else has to be woken for. */
	wokenFor: Map<string, number> | undefined;
}

/** The claims being served now, in the order they came; some of them sleep until there is work. */
export class WaitingClaims {
	readonly #clock: Clock;
	/** By lane: who has no use for a queue costs nothing when it gets work, however many they are. */
	readonly #waiters = new Map<string, Set<Waiter>>();
	/** When the last claim for a lane left. */
	readonly #leftAt = new Map<string, number>();
	/** Until when more lanes count as claimed from than are remembered. */
	#manyUntil = Number.NEGATIVE_INFINITY;
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
		this.#forgetOld();
		const lanes = new Set([...this.#waiters.keys(), ...this.#leftAt.keys()]);
		const isMany = lanes.size > MAX_LANES || this.#clock.monotonic() < this.#manyUntil;
		return isMany ? [EVERY_LANE] : [...lanes].sort();
	}

	enter(wanted: Wanted): Waiter {
		const waiter: Waiter = { wanted, wake: undefined, wokenFor: undefined };
		for (const name of laneNames(wanted)) {
			const there = this.#waiters.get(name);
			if (there) there.add(waiter);
			else this.#waiters.set(name, new Set([waiter]));
		}
		return waiter;
	}

	leave(waiter: Waiter): void {
		const now = this.#clock.monotonic();
		for (const name of laneNames(waiter.wanted)) {
			const there = this.#waiters.get(name);
			there?.delete(waiter);
			if (there?.size === 0) this.#waiters.delete(name);
			this.#leftAt.set(name, now);
		}
		if (this.#leftAt.size <= MOST_REMEMBERED) return;
		this.#forgetOld();
		if (this.#leftAt.size <= MOST_REMEMBERED) return;
		this.#leftAt.clear();
		this.#manyUntil = now + LATELY_MS;
	}

	/** Wakes the one that sleeps longest of those a queue has something for. */
	wakeFor(partition: number, queue: string): boolean {
		if (this.#sleeping === 0) return false;
		for (const waiter of this.#waiters.get(laneNameOf(queue)) ?? []) {
			if (!waiter.wake || !servesQueue(waiter.wanted.offer, queue)) continue;
			(waiter.wokenFor ??= new Map()).set(queue, partition);
			waiter.wake();
			return true;
		}
		return false;
	}

	wakeAll(): void {
		for (const waiters of this.#waiters.values()) for (const waiter of waiters) waiter.wake?.();
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
			manyMayListen(signal);
			signal?.addEventListener("abort", finish);
			waiter.wake = finish;
			this.#sleeping += 1;
		});
	}

	#forgetOld(): void {
		const since = this.#clock.monotonic() - LATELY_MS;
		for (const [name, leftAt] of this.#leftAt) if (leftAt <= since) this.#leftAt.delete(name);
	}
}

const laneNames = ({ namespace, lanes }: Wanted): string[] => lanes.map((lane) => laneName(namespace, lane));
