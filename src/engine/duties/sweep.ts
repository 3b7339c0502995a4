import type { Clock } from "../../contract/clock.ts";
import { MAX_PARTITIONS_PER_SCAN } from "../claims/partition-scan.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

const SWEEP_MS = 300_000;

export interface SweepOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	/** How often (5 min). */
	everyMs?: number | undefined;
	/** These partitions have changed since the last sweep. */
	onChanged(partitions: readonly number[]): void;
	/** With the same partitions, once they were told of. */
	afterPass(changed: readonly number[]): Promise<void>;
	/** A pass broke down; the next one comes all the same. */
	onFailure(error: unknown): void;
}

/**
 * The slow net under lost notices. It asks every partition for the number of its latest commit, which is all that needs
 * to be known of one where nothing has happened; only those that moved on are looked at.
 */
export class Sweep {
	readonly #options: SweepOptions;
	/** The latest commit each partition had when it was last asked. */
	readonly #commits = new Map<number, number>();
	#disarm: () => void = () => {};
	#closed = false;

	constructor(options: SweepOptions) {
		this.#options = options;
	}

	/** Begins with the latest commits known. */
	start(commits: readonly number[]): void {
		commits.forEach((commit, partition) => {
			this.#commits.set(partition, commit);
		});
		this.#later();
	}

	close(): void {
		this.#closed = true;
		this.#disarm();
	}

	#later(): void {
		if (this.#closed) return;
		this.#disarm = this.#options.clock.setTimer(this.#options.everyMs ?? SWEEP_MS, () => {
			void this.#pass()
				.catch((error) => this.#options.onFailure(error))
				.finally(() => this.#later());
		});
	}

	async #pass(): Promise<void> {
		const { onChanged, afterPass } = this.#options;
		const changed = await this.#changed();
		if (this.#closed) return;
		onChanged(changed);
		await afterPass(changed);
	}

	/** Partitions with commits since they were last asked; also those that do not answer. */
	async #changed(): Promise<number[]> {
		const { runners } = this.#options;
		const changed: number[] = [];
		for (let n = 0; n < runners.length && !this.#closed; n += MAX_PARTITIONS_PER_SCAN) {
			const step = runners.slice(n, n + MAX_PARTITIONS_PER_SCAN).map(async (runner, at) => {
				const partition = n + at;
				const commit = await runner
					.ask((store) => store.lastCommit(partition))
					.then(
						(answer) => answer.commit,
						() => undefined,
					);
				if (commit === undefined || commit !== this.#commits.get(partition)) changed.push(partition);
				if (commit === undefined) this.#commits.delete(partition);
				else this.#commits.set(partition, commit);
			});
			await Promise.all(step);
		}
		return changed;
	}
}
