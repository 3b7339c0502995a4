import { openStoreAt } from "../../src/library/open.ts";
import type { Unit } from "../../src/store/port.ts";
import { median } from "./sqlite-writes.ts";

/** The time from handing one unit to an otherwise idle store to its answer: milliseconds, the median over the units. */
export async function commitLatency(url: string, units: readonly Unit[]): Promise<number> {
	const store = await openStoreAt(url);
	const times: number[] = [];
	let number = 0;
	for (const unit of units) {
		const { time } = await store.read(0, []);
		const startedAt = performance.now();
		const { results } = await store.commit(0, {
			engine: "bench",
			number: ++number,
			at: time,
			units: [{ ...unit, expected: [] }],
		});
		times.push(performance.now() - startedAt);
		if (!results[0]?.ok) throw new Error("a unit that expects nothing was refused");
	}
	await store.close();
	return median(times);
}
