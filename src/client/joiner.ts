/** One call that may travel with others of its kind. */
interface Waiting<I, A> {
	item: I;
	resolve(answer: A): void;
	reject(error: unknown): void;
}

export type Settled<A> = { answer: A } | { error: unknown };

export interface JoinerOptions<I, A> {
	maxItems: number;
	maxBytes: number;
	sizeOf(item: I): number;
	/** The call of its own for one item. */
	one(item: I): Promise<A>;
	/** The joint call; answers each item. If it throws, all have failed. */
	many(items: I[]): Promise<Settled<A>[]>;
}

/**
 * Joins calls by nature, not by waiting: whatever is asked in one go, or while a call is under way, travels together in
 * the next. One alone goes at once.
 */
export class Joiner<I, A> {
	readonly #options: JoinerOptions<I, A>;
	#waiting: Waiting<I, A>[] = [];
	#busy = false;

	constructor(options: JoinerOptions<I, A>) {
		this.#options = options;
	}

	add(item: I): Promise<A> {
		return new Promise<A>((resolve, reject) => {
			this.#waiting.push({ item, resolve, reject });
			if (this.#busy) return;
			this.#busy = true;
			queueMicrotask(() => void this.#go());
		});
	}

	async #go(): Promise<void> {
		while (this.#waiting.length > 0) await this.#send(this.#next());
		this.#busy = false;
	}

	/** As many as fit; at least one. */
	#next(): Waiting<I, A>[] {
		const { maxItems, maxBytes, sizeOf } = this.#options;
		let bytes = 0;
		let count = 0;
		for (const { item } of this.#waiting) {
			bytes += sizeOf(item);
			if (count === maxItems || (count > 0 && bytes > maxBytes)) break;
			count += 1;
		}
		const next = this.#waiting.slice(0, count);
		this.#waiting = this.#waiting.slice(count);
		return next;
	}

	async #send(group: Waiting<I, A>[]): Promise<void> {
		const [first] = group;
		try {
			if (first && group.length === 1) {
				first.resolve(await this.#options.one(first.item));
				return;
			}
			const answers = await this.#options.many(group.map(({ item }) => item));
			group.forEach(({ resolve, reject }, n) => {
				const settled = answers[n];
				if (settled && "answer" in settled) resolve(settled.answer);
				else reject(settled?.error ?? new TypeError("the server gave no answer for an item"));
			});
		} catch (error) {
			for (const { reject } of group) reject(error);
		}
	}
}
