import type { PartitionRunner } from "../partition/partition-runner.ts";
import { DueMinder, type DueMinderOptions } from "./due-minder.ts";

export interface MindingOptions extends Omit<DueMinderOptions, "runner"> {
	runners: readonly PartitionRunner[];
}

/** The minders of all partitions; some of these are for this engine to mind, the others for other engines. */
export class Minding {
	readonly #minders: readonly DueMinder[];
	#own: readonly number[];

	constructor({ runners, ...options }: MindingOptions) {
		this.#minders = runners.map((runner) => new DueMinder({ runner, ...options }));
		this.#own = [...runners.keys()];
	}

	/** The partitions that are this engine's to mind. */
	get own(): readonly number[] {
		return this.#own;
	}

	/** Items put aside because they kept failing. */
	get parked(): number {
		return this.#minders.reduce((sum, minder) => sum + minder.parked, 0);
	}

	/** True when no pass is under way and none is due. */
	get idle(): boolean {
		return this.#minders.every((minder) => minder.idle);
	}

	mind(partitions: readonly number[]): void {
		this.#own = partitions;
		const own = new Set(partitions);
		this.#minders.forEach((minder, partition) => {
			minder.mind(own.has(partition));
		});
	}

	/** Something is due in a partition at this time of the store. */
	expect(partition: number, at: number): void {
		this.#minders[partition]?.expect(at);
	}

	/** Whether this engine will see to whatever is due in a partition up to this time, come what may. */
	vouches(partition: number, until: number): boolean {
		return this.#minders[partition]?.vouches(until) === true;
	}

	/** Looks now at what is due in these partitions. */
	look(partitions: Iterable<number>): void {
		for (const partition of partitions) this.#minders[partition]?.look();
	}

	async close(): Promise<void> {
		await Promise.all(this.#minders.map((minder) => minder.close()));
	}
}
