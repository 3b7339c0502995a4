import type { Running } from "./running.ts";

/** A call that brings more than this is not one of a few that come together. */
const FEW = 64;

/** What each of so many commands of a call counts for; see `Running.ofMany`. */
export const shareOfMany = (count: number): number => (count > FEW ? 1 : 0);

/**
 * Commands that wait to be run, in the order they came; but those of a call that brings hundreds let in only so many at a
 * time. Whoever comes alone then waits behind a batch or two, not behind all that others brought before.
 */
export class WaitingCommands {
	readonly #mostOfMany: number;
	#next: Running[] = [];
	#crowd: Running[] = [];
	/** Where those begin that have not been let in yet. */
	#crowdFrom = 0;

	/** `mostOfMany` of those that were brought together may be among the next. */
	constructor(mostOfMany: number) {
		this.#mostOfMany = mostOfMany;
	}

	get size(): number {
		return this.#next.length + this.#crowd.length - this.#crowdFrom;
	}

	add(running: Running): void {
		if (running.ofMany > 0) this.#crowd.push(running);
		else this.#next.push(running);
	}

	/** Puts commands that have been here before all others. */
	addFirst(commands: readonly Running[]): void {
		if (commands.length > 0) this.#next = [...commands, ...this.#next];
	}

	/** Those to be run next, in order. */
	next(): readonly Running[] {
		if (this.#crowd.length > 0) this.#letIn();
		return this.#next;
	}

	/** The first so many were run. */
	drop(count: number): void {
		if (count > 0) this.#next = this.#next.slice(count);
	}

	/** Puts those to be run next into another order. */
	arrange(order: (next: Running[]) => Running[]): void {
		this.#next = order(this.#next);
	}

	/** Drops all others. */
	keep(isKept: (running: Running) => boolean): void {
		this.#next = this.#next.filter(isKept);
		this.#crowd = this.#crowd.slice(this.#crowdFrom).filter(isKept);
		this.#crowdFrom = 0;
	}

	*[Symbol.iterator](): Iterator<Running> {
		yield* this.#next;
		for (let at = this.#crowdFrom; at < this.#crowd.length; at++) yield this.#crowd[at] as Running;
	}

	takeAll(): Running[] {
		const all = [...this];
		this.#next = [];
		this.#crowd = [];
		this.#crowdFrom = 0;
		return all;
	}

	#letIn(): void {
		let room = this.#mostOfMany;
		for (const { ofMany } of this.#next) room -= ofMany;
		while (room > 0 && this.#crowdFrom < this.#crowd.length) {
			const running = this.#crowd[this.#crowdFrom++] as Running;
			this.#next.push(running);
			room -= running.ofMany;
		}
		if (this.#crowdFrom < this.#crowd.length / 2) return;
		this.#crowd = this.#crowd.slice(this.#crowdFrom);
		this.#crowdFrom = 0;
	}
}
