/** How long calls took, by kind of call. */
export class Latencies {
	readonly #ms = new Map<string, number[]>();

	add(kind: string, ms: number): void {
		const known = this.#ms.get(kind);
		if (known) known.push(ms);
		else this.#ms.set(kind, [ms]);
	}

	/** Times a call. */
	async of<T>(kind: string, call: Promise<T>): Promise<T> {
		const began = performance.now();
		const answer = await call;
		this.add(kind, performance.now() - began);
		return answer;
	}

	get kinds(): string[] {
		return [...this.#ms.keys()].sort();
	}

	count(kind: string): number {
		return this.#ms.get(kind)?.length ?? 0;
	}

	p99(kind: string): number {
		const sorted = [...(this.#ms.get(kind) ?? [])].sort((a, b) => a - b);
		return sorted[Math.max(0, Math.ceil(sorted.length * 0.99) - 1)] ?? 0;
	}
}
