/**
 * Which partitions a pass of a scanner looks at: those that have changed, those where it found something the last time, and
 * of those it never looked at a few. So a pass over partitions in which nothing happens costs nothing.
 */
export class PartitionRounds {
	readonly #firstLooks: number;
	readonly #looked = new Set<number>();
	#found: ReadonlySet<number> = new Set();

	/** `firstLooks` of the partitions that were never looked at are in each pass. */
	constructor(firstLooks: number) {
		this.#firstLooks = firstLooks;
	}

	next(own: readonly number[], changed: readonly number[]): number[] {
		const fresh = own.filter((partition) => !this.#looked.has(partition)).slice(0, this.#firstLooks);
		const wanted = new Set([...changed, ...this.#found, ...fresh]);
		for (const partition of fresh) this.#looked.add(partition);
		return own.filter((partition) => wanted.has(partition));
	}

	/** Where something was found, which may still be there the next time. */
	found(partitions: Iterable<number>): void {
		this.#found = new Set(partitions);
	}
}
