/** Which records are watched, and by how many: a store tells of changes to these and no others. */
export class Watches {
	readonly #counts = new Map<string, number>();

	get size(): number {
		return this.#counts.size;
	}

	keys(): Iterable<string> {
		return this.#counts.keys();
	}

	has(key: string): boolean {
		return this.#counts.has(key);
	}

	/** Calling the returned function twice takes away nobody else's watch. */
	add(key: string): () => void {
		this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
		let watching = true;
		return () => {
			if (!watching) return;
			watching = false;
			const left = (this.#counts.get(key) ?? 1) - 1;
			if (left > 0) this.#counts.set(key, left);
			else this.#counts.delete(key);
		};
	}
}
