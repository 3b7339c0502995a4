import type { Database, Statement } from "better-sqlite3";

export type Value = string | number | Buffer;

/** Rows per statement, largest first. More gain nothing: by then the rows themselves cost what there is to pay. */
const MOST_ROWS = 32;
const STEPS = [MOST_ROWS, 8, 1];

/**
 * Rows on their way into one table, written many to a statement: running a statement costs as much as the row it writes.
 * A full buffer is written by itself; whoever needs the rows in the table, or ends the transaction, calls `flush`.
 */
export class RowBuffer {
	readonly #values: Value[] = [];
	readonly #steps: { length: number; statement: Statement }[];
	readonly #width: number;
	readonly #full: number;

	constructor(db: Database, width: number, sql: (rows: number) => string) {
		this.#width = width;
		this.#steps = STEPS.map((rows) => ({ length: rows * width, statement: db.prepare(sql(rows)) }));
		this.#full = width * MOST_ROWS;
	}

	get full(): boolean {
		return this.#values.length >= this.#full;
	}

	/** Rows that wait. */
	get size(): number {
		return this.#values.length / this.#width;
	}

	/** A row of four values, or of eight. */
	add(a: Value, b: Value, c: Value, d: Value, e?: Value, f?: Value, g?: Value, h?: Value): void {
		this.#values.push(a, b, c, d);
		if (e !== undefined && f !== undefined && g !== undefined && h !== undefined) this.#values.push(e, f, g, h);
	}

	/** Writes what waits; answers how many rows that changed. */
	flush(): number {
		const values = this.#values;
		let written = 0;
		let changes = 0;
		for (const { length, statement } of this.#steps) {
			for (; values.length - written >= length; written += length) {
				changes += statement.run(values.length === length ? values : values.slice(written, written + length)).changes;
			}
		}
		values.length = 0;
		return changes;
	}

	/** Forgets rows that were not written, when their transaction has failed. */
	drop(): void {
		this.#values.length = 0;
	}
}
