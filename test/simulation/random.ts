/** A seeded random source: the same seed gives the same world, event by event. */
export class Random {
	#state: number;

	constructor(seed: number) {
		this.#state = (seed * 0x9e3779b9 + 0x85ebca6b) >>> 0;
		for (let n = 0; n < 4; n++) this.next();
	}

	/** In 0..1, without 1. */
	readonly next = (): number => {
		this.#state = (this.#state + 0x6d2b79f5) >>> 0;
		let mixed = this.#state;
		mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
	};

	/** An integer in low..high, both included. */
	integer(low: number, high: number): number {
		return low + Math.floor(this.next() * (high - low + 1));
	}

	chance(probability: number): boolean {
		return this.next() < probability;
	}

	pick<T>(from: readonly T[]): T {
		return from[Math.floor(this.next() * from.length)] as T;
	}

	/** One of the names, each as likely as its weight. */
	weighted<N extends string>(weights: Record<N, number>): N {
		const entries = Object.entries(weights) as [N, number][];
		let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
		for (const [name, weight] of entries) {
			left -= weight;
			if (left < 0) return name;
		}
		return (entries[0] as [N, number])[0];
	}

	readonly hex = (bytes: number): string => {
		let text = "";
		for (let n = 0; n < bytes; n++) text += this.integer(0, 255).toString(16).padStart(2, "0");
		return text;
	};
}
