import type { PartitionRunner } from "./partition-runner.ts";

/** Work that joins one commit before the next partition is begun: more gains little, and keeps the others waiting. */
const ENOUGH = 32;

/**
 * Chooses the partition of new work that may live anywhere. Spread evenly, work that arrives together would go out in as
 * many small commits as there are partitions, be claimed from all of them, and end on all of them. So what arrives
 * together stays together: one partition gathers until its commit leaves or it has enough, then the next idle one does.
 */
export class Gathering {
	readonly #runners: readonly PartitionRunner[];
	#current = 0;

	constructor(runners: readonly PartitionRunner[]) {
		this.#runners = runners;
	}

	next(): number {
		const { gathered, isAway } = this.#runners[this.#current] as PartitionRunner;
		if (gathered > 0 && gathered < ENOUGH && !isAway) return this.#current;
		const count = this.#runners.length;
		let least = this.#current;
		for (let step = 1; step <= count; step++) {
			const candidate = (this.#current + step) % count;
			const runner = this.#runners[candidate] as PartitionRunner;
			if (!runner.isAway && runner.gathered < ENOUGH) {
				this.#current = candidate;
				return candidate;
			}
			if (runner.gathered < (this.#runners[least] as PartitionRunner).gathered) least = candidate;
		}
		this.#current = least;
		return least;
	}
}
