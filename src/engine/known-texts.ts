/** Characters of texts that are kept by one of these. */
const MOST_CHARS = 4 * 1024 * 1024;

/** What was worked out for a text, kept while texts are few and short together; beyond that all of it is made anew. */
export class KnownTexts<V> {
	readonly #most: number;
	readonly #mostChars: number;
	readonly #values = new Map<string, V>();
	#chars = 0;

	/** `mostChars` counts the texts alone: a value holds about as much again. */
	constructor(most: number, mostChars = MOST_CHARS) {
		this.#most = most;
		this.#mostChars = mostChars;
	}

	get size(): number {
		return this.#values.size;
	}

	get(text: string): V | undefined {
		return this.#values.get(text);
	}

	set(text: string, value: V): void {
		if (this.#values.size >= this.#most || this.#chars + text.length > this.#mostChars) this.clear();
		if (!this.#values.has(text)) this.#chars += text.length;
		this.#values.set(text, value);
	}

	clear(): void {
		this.#values.clear();
		this.#chars = 0;
	}
}
