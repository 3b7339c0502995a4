import type { Store } from "../../store/port.ts";
import { length } from "../format/times.ts";

/** Clocks of two machines may differ by less than this without anybody minding. */
const UNHEARD_OF_MS = 60_000;

/** A partition's time never goes back: where a clock was once ahead, nothing becomes due until it has caught up. */
export async function timeProblems(store: Store): Promise<string[]> {
	const now = Date.now();
	const partitions = Array.from({ length: store.partitions }, (_, partition) => store.lastCommit(partition));
	const ahead = (await Promise.all(partitions)).map(({ time }) => time - now).filter((ms) => ms > UNHEARD_OF_MS);
	if (ahead.length === 0) return [];
	const where = `${ahead.length} of ${store.partitions} partitions`;
	const furthest = ahead.reduce((most, ms) => Math.max(most, ms));
	return [
		`the time of ${where} is up to ${length(furthest)} ahead of this machine's clock: unless the store's clock is ahead too, nothing becomes due there before it has caught up`,
	];
}
