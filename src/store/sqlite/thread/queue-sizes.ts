import type { Database, Statement } from "better-sqlite3";
import * as sql from "./schema.ts";
import { toText } from "./text.ts";

/**
 * How the sizes of queues change, gathered over a batch: many entries move between few queues, so that a batch costs a
 * few rows here. Each entry told counts as one. If it turns out that some added what was there, or removed what was not,
 * the queues touched are counted instead; a correct engine never causes that.
 */
export class QueueSizes {
	readonly #byPartition = new Map<number, Map<string, number>>();
	readonly #addToSize: Statement;
	readonly #removeEmptySize: Statement;
	readonly #countEntries: Statement;
	readonly #setSize: Statement;
	#partition = -1;
	#changes: Map<string, number> | undefined;
	#doubtful = false;

	constructor(db: Database) {
		this.#addToSize = db.prepare(sql.addToSize);
		this.#removeEmptySize = db.prepare(sql.removeEmptySize);
		this.#countEntries = db.prepare(sql.countEntries).pluck();
		this.#setSize = db.prepare(sql.setSize);
	}

	change(partition: number, queue: string, by: 1 | -1): void {
		// Nearly always the partition of the entry before.
		if (partition !== this.#partition || !this.#changes) this.#changes = this.#changesOf(partition);
		const changes = this.#changes;
		changes.set(queue, (changes.get(queue) ?? 0) + by);
	}

	#changesOf(partition: number): Map<string, number> {
		const changes = this.#byPartition.get(partition) ?? new Map<string, number>();
		this.#byPartition.set(partition, changes);
		this.#partition = partition;
		return changes;
	}

	/** What was told since the last flush is not all that happened. */
	doubt(): void {
		this.#doubtful = true;
	}

	/** The entries themselves must be in their table by now. */
	flush(): void {
		for (const [partition, changes] of this.#byPartition) {
			for (const [queue, change] of changes) {
				const name = toText(queue);
				if (this.#doubtful) this.#setSize.run(partition, name, this.#countEntries.get(partition, name));
				else if (change !== 0) this.#addToSize.run(partition, name, change);
				if (change < 0 || this.#doubtful) this.#removeEmptySize.run(partition, name);
			}
			changes.clear();
		}
		this.#doubtful = false;
	}

	drop(): void {
		this.#byPartition.clear();
		this.#changes = undefined;
		this.#doubtful = false;
	}
}
