import type { Clock } from "../../src/contract/clock.ts";

interface Happening {
	at: number;
	order: number;
	run: () => void;
	host: Host | undefined;
	calledOff: boolean;
}

/** A process that engines live in: it can die, and it can stand still while the world goes on. */
export class Host implements Clock {
	readonly name: string;
	readonly world: World;
	alive = true;
	pausedUntil = 0;
	/** How far its monotonic clock lagged behind the world when its last sleep began: a suspended machine counts none of it. */
	#asleep = 0;
	#lastSleep = { from: 0, until: 0 };
	readonly #rate: number;
	readonly #deathWatch = new Set<() => void>();

	constructor(world: World, name: string, rate: number) {
		this.world = world;
		this.name = name;
		this.#rate = rate;
	}

	now(): number {
		return this.world.time;
	}

	monotonic(): number {
		return (this.world.time - this.#slept()) * this.#rate;
	}

	#slept(): number {
		const { from, until } = this.#lastSleep;
		return this.#asleep + Math.min(this.world.time, until) - from;
	}

	setTimer(ms: number, callback: () => void): () => void {
		return this.world.after(ms / this.#rate, callback, this);
	}

	defer(callback: () => void): void {
		this.world.after(0, callback, this);
	}

	pause(ms: number, clockStops: boolean): void {
		// What was put off until the end of a longer pause still comes then.
		this.pausedUntil = Math.max(this.pausedUntil, this.world.time + ms);
		if (!clockStops) return;
		this.#asleep = this.#slept();
		this.#lastSleep = { from: this.world.time, until: this.pausedUntil };
	}

	/** Ends whatever pause it is in. */
	wake(): void {
		this.pausedUntil = 0;
		this.#lastSleep.until = Math.min(this.#lastSleep.until, this.world.time);
	}

	die(): void {
		this.alive = false;
		for (const callback of [...this.#deathWatch]) callback();
	}

	onDeath(callback: () => void): () => void {
		this.#deathWatch.add(callback);
		return () => this.#deathWatch.delete(callback);
	}
}

/**
 * Virtual time and everything that will happen in it. Between two happenings all promises settle, so an order of
 * happenings is an order of everything.
 */
export class World {
	time = 0;
	/** Grows with every happening and every commit: what came before what. */
	moment = 0;
	#order = 0;
	readonly #heap: Happening[] = [];

	/** Calls `run` after `ms`, on a host if it lives then; the returned function calls it off. */
	after(ms: number, run: () => void, host?: Host): () => void {
		// Less than a microsecond would vanish in the sum, and time would stand still.
		const delay = ms > 0 ? Math.max(ms, 0.001) : 0;
		const happening: Happening = { at: this.time + delay, order: this.#order++, run, host, calledOff: false };
		this.#push(happening);
		return () => {
			happening.calledOff = true;
		};
	}

	get nextAt(): number | undefined {
		while (this.#heap[0]?.calledOff) this.#pop();
		return this.#heap[0]?.at;
	}

	/** Lets the next thing happen; false when nothing will. */
	async step(): Promise<boolean> {
		for (;;) {
			const happening = this.#pop();
			if (!happening) return false;
			const { host } = happening;
			if (happening.calledOff || (host && !host.alive)) continue;
			if (host && host.pausedUntil > happening.at) {
				happening.at = host.pausedUntil;
				happening.order = this.#order++;
				this.#push(happening);
				continue;
			}
			this.time = Math.max(this.time, happening.at);
			this.moment += 1;
			happening.run();
			await settled();
			return true;
		}
	}

	/** Lets everything happen up to a time, then moves on to it. */
	async runUntil(time: number): Promise<void> {
		while ((this.nextAt ?? Number.POSITIVE_INFINITY) <= time) if (!(await this.step())) break;
		this.time = Math.max(this.time, time);
	}

	#push(happening: Happening): void {
		const heap = this.#heap;
		let place = heap.push(happening) - 1;
		while (place > 0) {
			const parent = (place - 1) >> 1;
			if (!sooner(heap[place], heap[parent])) break;
			swap(heap, place, parent);
			place = parent;
		}
	}

	#pop(): Happening | undefined {
		const heap = this.#heap;
		const top = heap[0];
		const last = heap.pop();
		if (!top || !last || heap.length === 0) return top;
		heap[0] = last;
		let place = 0;
		for (;;) {
			let least = place;
			for (const child of [2 * place + 1, 2 * place + 2])
				if (child < heap.length && sooner(heap[child], heap[least])) least = child;
			if (least === place) return top;
			swap(heap, place, least);
			place = least;
		}
	}
}

const sooner = (a: Happening | undefined, b: Happening | undefined): boolean =>
	!!a && !!b && (a.at < b.at || (a.at === b.at && a.order < b.order));

function swap(heap: Happening[], a: number, b: number): void {
	[heap[a], heap[b]] = [heap[b] as Happening, heap[a] as Happening];
}

/** After this every promise that could settle has. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
