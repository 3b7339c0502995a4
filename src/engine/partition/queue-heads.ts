import { ELIGIBLE } from "../../kernel/placement.ts";
import type { Entry } from "../../kernel/tx.ts";

/**
 * The heads of queues this engine knows. A window holds every entry of its queue up to some point; `complete` says that
 * the point is the queue's end. It is kept current by the engine's own writes and dropped when another engine has
 * written, so it may be stale: it tells where to look, and the records decide.
 */
interface Window {
	entries: Entry[];
	complete: boolean;
}

/** Entries fetched at a time; also the most kept, so a queue of millions costs no more than a short one. */
const LOAD = 256;
const KEEP = 2048;

const compare = (a: Entry, b: Entry): number => a.score - b.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);

/** Windows kept; a lane in which a hundred thousand keys take turns has a queue for each. */
const MOST_WINDOWS = 4096;

export class QueueHeads {
	readonly #windows = new Map<string, Window>();
	/** Queues of which another head is known than before, or none; whoever keeps an order of them clears it. */
	readonly moved = new Set<string>();

	/** The first entries, or undefined when too few are known. */
	first(queue: string, count: number): readonly Entry[] | undefined {
		return this.seen(queue, count)?.slice(0, count);
	}

	/** Like `first`, with whatever is known behind those, and not a copy: to be looked at now, for it goes on changing. */
	seen(queue: string, count: number): readonly Entry[] | undefined {
		const window = this.#windows.get(queue);
		return window && (window.complete || window.entries.length >= count) ? window.entries : undefined;
	}

	/** Of the first entries those that are known. */
	known(queue: string, most: number): readonly Entry[] {
		return this.#windows.get(queue)?.entries.slice(0, most) ?? [];
	}

	/** The best entry if any is known; null when the queue is known to be empty; undefined when nothing is known. */
	peek(queue: string): Entry | null | undefined {
		const window = this.#windows.get(queue);
		return window?.entries[0] ?? (window?.complete ? null : undefined);
	}

	/** How many entries to fetch when `wanted` are asked for. */
	loadSize(wanted: number): number {
		return Math.max(wanted, LOAD);
	}

	load(queue: string, entries: Entry[], asked: number): void {
		this.#note(queue);
		if (this.#windows.size >= MOST_WINDOWS) this.#forgetOldest();
		this.#windows.set(queue, { entries, complete: entries.length < asked });
	}

	add(queue: string, entry: Entry): void {
		const window = this.#windows.get(queue);
		if (!window) return;
		const { entries } = window;
		const place = lowerBound(entries, entry);
		if (place === entries.length && !window.complete) return;
		const there = entries[place];
		if (there && compare(there, entry) === 0) return;
		entries.splice(place, 0, entry);
		if (place === 0) this.#note(queue);
		if (entries.length > KEEP) {
			entries.length = KEEP / 2;
			window.complete = false;
		}
	}

	remove(queue: string, entry: Entry): void {
		const entries = this.#windows.get(queue)?.entries;
		if (!entries) return;
		const place = lowerBound(entries, entry);
		const there = entries[place];
		if (!there || compare(there, entry) !== 0) return;
		if (place > 0) entries.splice(place, 1);
		else {
			// What is taken is the first, as a rule; `shift` moves the start, `splice` all the rest.
			entries.shift();
			this.#note(queue);
		}
	}

	forget(queue: string): void {
		if (this.#windows.delete(queue)) this.#note(queue);
	}

	forgetAll(): void {
		for (const queue of this.#windows.keys()) this.#note(queue);
		this.#windows.clear();
	}

	#forgetOldest(): void {
		for (const queue of this.#windows.keys()) return this.forget(queue);
	}

	/** Only claims ask which queue is best. */
	#note(queue: string): void {
		if (queue.startsWith(ELIGIBLE)) this.moved.add(queue);
	}
}

function lowerBound(entries: readonly Entry[], entry: Entry): number {
	let low = 0;
	let high = entries.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (compare(entries[middle] as Entry, entry) < 0) low = middle + 1;
		else high = middle;
	}
	return low;
}
