/** Where a queue stands whose head is not known, or is said to be none: it has to be looked at. */
export const UNKNOWN = Number.NEGATIVE_INFINITY;

interface Place {
	queue: string;
	score: number;
}

/** Queues in the order of their heads, as far as those are known; the others come first, by name. */
export class HeadOrder {
	readonly #places: Place[];
	readonly #scores: Map<string, number>;

	constructor(places: readonly Place[]) {
		this.#places = [...places].sort((a, b) => (isBefore(a, b.queue, b.score) ? -1 : 1));
		this.#scores = new Map(places.map(({ queue, score }) => [queue, score]));
	}

	get size(): number {
		return this.#places.length;
	}

	/** How many queues have a head that is not known. */
	get unknown(): number {
		return this.#placeOf("", -Number.MAX_VALUE);
	}

	/** The `n`th best queue. */
	at(n: number): Readonly<Place> | undefined {
		return this.#places[n];
	}

	has(queue: string): boolean {
		return this.#scores.has(queue);
	}

	/** Some queues whose head is not known, those behind this name first. */
	unknownBehind(name: string, most: number): string[] {
		const { unknown } = this;
		const found: string[] = [];
		const start = this.#placeOf(`${name}\0`, UNKNOWN);
		for (let n = 0; n < unknown && found.length < most; n++) {
			found.push((this.#places[(start + n) % unknown] as Place).queue);
		}
		return found;
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
			if (isBefore(this.#places[middle] as Place, queue, score)) low = middle + 1;
			else high = middle;
		}
		return low;
	}
}

const isBefore = (place: Place, queue: string, score: number): boolean =>
	place.score < score || (place.score === score && place.queue < queue);
