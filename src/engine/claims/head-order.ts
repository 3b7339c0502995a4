/** Where a queue stands whose head is not known, or is said to be none: it has to be looked at. */
export const UNKNOWN = Number.NEGATIVE_INFINITY;

interface Place {
	queue: string;
	score: number;
}

/** Queues in the order of their heads, as far as those are known. */
export class HeadOrder {
	readonly #places: Place[] = [];
	readonly #scores = new Map<string, number>();

	get size(): number {
		return this.#places.length;
	}

	/** The `n`th best queue. */
	at(n: number): Readonly<Place> | undefined {
		return this.#places[n];
	}

	has(queue: string): boolean {
		return this.#scores.has(queue);
	}

	set(queue: string, score: number): void {
		const known = this.#scores.get(queue);
		if (known === score) return;
		if (known !== undefined) this.#places.splice(this.#placeOf(queue, known), 1);
		this.#scores.set(queue, score);
		this.#places.splice(this.#placeOf(queue, score), 0, { queue, score });
	}

	delete(queue: string): void {
		const known = this.#scores.get(queue);
		if (known === undefined) return;
		this.#scores.delete(queue);
		this.#places.splice(this.#placeOf(queue, known), 1);
	}

	#placeOf(queue: string, score: number): number {
		let low = 0;
		let high = this.#places.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			const place = this.#places[middle] as Place;
			if (place.score < score || (place.score === score && place.queue < queue)) low = middle + 1;
			else high = middle;
		}
		return low;
	}
}
