import { encode } from "../../kernel/record-types.ts";
import { type Unit, unitOf } from "../../store/port.ts";
import type { AskPartition, DriftedEntry } from "./index-walk.ts";

/** Units sent together. */
const UNITS_PER_BATCH = 64;

/**
 * Makes the index what the records say. Each repair expects the version of the record that asks for it: if the record
 * has changed meanwhile the store refuses it, and whoever changed it has brought its entries with it.
 */
export class IndexMender {
	readonly #engine: string;
	/** The number of the last batch; one series will do for all partitions. */
	#number = 0;

	/** `engine` must be nobody else's: batches are told apart by it and their number. */
	constructor(engine: string) {
		this.#engine = engine;
	}

	/** Returns what was mended; what was not is found again by the next walk. */
	async mend(ask: AskPartition, drift: readonly DriftedEntry[]): Promise<DriftedEntry[]> {
		const byKey = new Map<string, DriftedEntry[]>();
		for (const entry of drift) byKey.set(entry.key, [...(byKey.get(entry.key) ?? []), entry]);
		const repairs = [...byKey.values()];
		const mended: DriftedEntry[] = [];
		for (let n = 0; n < repairs.length; n += UNITS_PER_BATCH) {
			const sent = repairs.slice(n, n + UNITS_PER_BATCH);
			const { time } = await ask((store, at) => store.read(at, []));
			this.#number += 1;
			const batch = { engine: this.#engine, number: this.#number, at: time, units: sent.map(repairOf) };
			const { results } = await ask((store, at) => store.commit(at, batch));
			results.forEach((result, place) => {
				if (result.ok) for (const entry of sent[place] ?? []) mended.push(entry);
			});
		}
		return mended;
	}
}

function repairOf(entries: readonly DriftedEntry[]): Unit {
	const bare = ({ queue, key, score }: DriftedEntry) => ({ queue, key, score });
	const [first] = entries;
	const made = first?.madeFor && first.record ? first : undefined;
	return unitOf({
		expected: [first, made?.madeFor].flatMap((read) => (read ? [[read.key, read.version]] : [])),
		put: made ? [{ key: made.key, doc: encode(made.key, made.record as object) }] : [],
		indexAdded: entries.filter(({ problem }) => problem === "missing").map(bare),
		indexRemoved: entries.filter(({ problem }) => problem === "stale").map(bare),
	});
}
