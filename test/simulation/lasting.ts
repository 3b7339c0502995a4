import type { SimPartition } from "./sim-store.ts";
import { Violation } from "./violation.ts";

/** What may be, but not for long: since when it has been there, by the clock of each partition. */
export class Lasting {
	readonly #since = new Map<string, number[]>();
	#times: readonly number[] = [];
	#noted = new Set<string>();

	/** Begins a look at all there is; in between nothing may be overlooked. */
	begin(partitions: readonly SimPartition[]): void {
		this.#times = partitions.map(({ time }) => time);
		this.#noted = new Set();
	}

	/** This is so now, and may be so for this long. */
	note(what: string, mostMs: number): void {
		this.#noted.add(what);
		const since = this.#since.get(what);
		if (!since) this.#since.set(what, [...this.#times]);
		else if (Math.min(...this.#times.map((time, n) => time - (since[n] ?? 0))) > mostMs)
			throw new Violation(`${what}, for more than ${mostMs} ms`);
	}

	/** What was not noted is over. */
	end(): void {
		for (const what of this.#since.keys()) if (!this.#noted.has(what)) this.#since.delete(what);
	}

	clear(): void {
		this.#since.clear();
	}
}
