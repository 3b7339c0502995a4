/** Who waits for what: calls everyone who watches a subject when it changes. */
export class Watchers {
	readonly #bySubject = new Map<string, Set<() => void>>();

	add(subject: string, callback: () => void): () => void {
		const callbacks = this.#bySubject.get(subject) ?? new Set();
		this.#bySubject.set(subject, callbacks.add(callback));
		return () => {
			callbacks.delete(callback);
			if (callbacks.size === 0 && this.#bySubject.get(subject) === callbacks) this.#bySubject.delete(subject);
		};
	}

	get size(): number {
		return this.#bySubject.size;
	}

	changed(subject: string): void {
		for (const callback of this.#bySubject.get(subject) ?? []) callback();
	}

	changedAll(): void {
		for (const callbacks of this.#bySubject.values()) for (const callback of callbacks) callback();
	}
}
