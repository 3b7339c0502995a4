import type { Database } from "better-sqlite3";
import type { IndexEntry } from "../../port.ts";
import { QueueSizes } from "./queue-sizes.ts";
import { RowBuffer } from "./row-buffer.ts";
import { insertEntries, removeEntries } from "./schema.ts";
import { toText } from "./text.ts";

const WIDTH = 4;

/**
 * The index changes of a batch, gathered so that many rows share a statement. All removals that wait are written before
 * all additions, which is the order within a unit; a second unit that touches the same key first has everything written,
 * so that between units order is kept too.
 */
export class IndexChanges {
	readonly #added: RowBuffer;
	readonly #removed: RowBuffer;
	readonly #sizes: QueueSizes;
	/** The unit that last touched a key's entries, of those not written yet. */
	readonly #touched = new Map<string, number>();
	#unit = 0;

	constructor(db: Database) {
		this.#added = new RowBuffer(db, WIDTH, insertEntries);
		this.#removed = new RowBuffer(db, WIDTH, removeEntries);
		this.#sizes = new QueueSizes(db);
	}

	nextUnit(): void {
		this.#unit += 1;
	}

	remove(partition: number, { queue, score, key }: IndexEntry): void {
		this.#touch(key);
		this.#sizes.change(partition, queue, -1);
		this.#removed.add(partition, toText(queue), score, toText(key));
		if (this.#removed.full) this.#write(this.#removed);
	}

	add(partition: number, { queue, score, key }: IndexEntry): void {
		this.#touch(key);
		this.#sizes.change(partition, queue, 1);
		this.#added.add(partition, toText(queue), score, toText(key));
		if (this.#added.full) {
			this.#write(this.#removed);
			this.#write(this.#added);
		}
	}

	/** Brings everything into the tables, the sizes of queues too. */
	flush(): void {
		this.#writeEntries();
		this.#sizes.flush();
	}

	drop(): void {
		this.#removed.drop();
		this.#added.drop();
		this.#sizes.drop();
		this.#touched.clear();
	}

	#touch(key: string): void {
		const by = this.#touched.get(key);
		if (by === this.#unit) return;
		if (by !== undefined) this.#writeEntries();
		this.#touched.set(key, this.#unit);
	}

	#writeEntries(): void {
		this.#write(this.#removed);
		this.#write(this.#added);
		this.#touched.clear();
	}

	/** A row that adds what is there, or removes what is not, changes nothing: then the sizes are to be counted anew. */
	#write(rows: RowBuffer): void {
		const { size } = rows;
		if (rows.flush() !== size) this.#sizes.doubt();
	}
}
