import type { PartitionRunner } from "./partition/partition-runner.ts";

/**
 * Work that joins one commit before the next partition is begun. With more, all that 64 callers submit is one commit,
 * and engine and store take turns (measured on Valkey: 1.06 × the lifecycles of 64); with less, commits cost more.
 */
const ENOUGH = 32;

/**
 * Chooses the partition of new work that may live anywhere. Spread evenly, work that arrives together would go out in as
 * many small commits as there are partitions, be claimed from all of them, and end on all of them. So what arrives
 * together stays together: one partition gathers until its commit leaves or it has enough, then the next idle one does.
 */
export class PartitionChooser {
	readonly #runners: readonly PartitionRunner[];
	#partitions: readonly number[];
	/** Where in the list of partitions it gathers now. */
	#place = 0;

	constructor(runners: readonly PartitionRunner[]) {
		this.#runners = runners;
		this.#partitions = [...runners.keys()];
	}

	/** Gathers in these from now on; in all when there are none. */
	prefer(partitions: readonly number[]): void {
		this.#partitions = partitions.length > 0 ? partitions : [...this.#runners.keys()];
		this.#place = 0;
	}

	next(): number {
		const { gathered, isAway } = this.#runnerAt(this.#place);
		if (gathered > 0 && gathered < ENOUGH && !isAway) return this.#partitionAt(this.#place);
		const count = this.#partitions.length;
		let least = this.#place;
		for (let step = 1; step <= count; step++) {
			const candidate = (this.#place + step) % count;
			const runner = this.#runnerAt(candidate);
			if (!runner.isAway && runner.gathered < ENOUGH) {
				this.#place = candidate;
				return this.#partitionAt(candidate);
			}
			if (runner.gathered < this.#runnerAt(least).gathered) least = candidate;
		}
		this.#place = least;
		return this.#partitionAt(least);
	}

	#partitionAt(place: number): number {
		return this.#partitions[place] as number;
	}

	#runnerAt(place: number): PartitionRunner {
		return this.#runners[this.#partitionAt(place)] as PartitionRunner;
	}
}
