import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PartitionTimer, type PartitionTimerOptions } from "./partition-timer.ts";

export interface TimerServiceOptions extends Omit<PartitionTimerOptions, "runner"> {
	runners: readonly PartitionRunner[];
}

/** The timers of all partitions; this engine runs some of them, other engines the others. */
export class TimerService {
	readonly #partitions: readonly PartitionTimer[];
	#own: readonly number[];

	constructor({ runners, ...options }: TimerServiceOptions) {
		this.#partitions = runners.map((runner) => new PartitionTimer({ runner, ...options }));
		this.#own = [...runners.keys()];
	}

	/** The partitions that this engine runs timers of. */
	get own(): readonly number[] {
		return this.#own;
	}

	/** Items put aside because they kept failing. */
	get parked(): number {
		return this.#partitions.reduce((sum, timer) => sum + timer.parked, 0);
	}

	/** True when no pass is under way and none is due. */
	get idle(): boolean {
		return this.#partitions.every((timer) => timer.idle);
	}

	assign(partitions: readonly number[]): void {
		this.#own = partitions;
		const own = new Set(partitions);
		this.#partitions.forEach((timer, partition) => {
			timer.assign(own.has(partition));
		});
	}

	/** Something is due in a partition at this time of the store. */
	expect(partition: number, at: number): void {
		this.#partitions[partition]?.expect(at);
	}

	/** Whether this engine will see to whatever is due in a partition up to this time, come what may. */
	vouches(partition: number, until: number): boolean {
		return this.#partitions[partition]?.vouches(until) === true;
	}

	/** Looks now at what is due in these partitions. */
	look(partitions: Iterable<number>): void {
		for (const partition of partitions) this.#partitions[partition]?.look();
	}

	async close(): Promise<void> {
		await Promise.all(this.#partitions.map((timer) => timer.close()));
	}
}
