import type { QuotaRecord, WindowChunk, WindowEntry } from "../records/quota.ts";

/** What a reader is told of a window that nobody has trimmed: nothing is written for it. */

/** The chunk of which only some counts at a time: what is in it has to be looked at. */
export const straddling = ({ rate, chunks }: QuotaRecord, now: number): WindowChunk | undefined =>
	rate
		? chunks.find(({ firstAt, lastAt }) => firstAt <= now - rate.windowMs && lastAt > now - rate.windowMs)
		: undefined;

/** How many admissions count at a time; `entries` are those of the chunk of which only some do. */
export function countedAt(quota: QuotaRecord, entries: readonly WindowEntry[], now: number): number {
	const { rate, chunks, window } = quota;
	if (!rate) return 0;
	const until = now - rate.windowMs;
	let count = 0;
	for (const chunk of chunks) if (chunk.firstAt > until) count += chunk.count;
	for (const [at, each] of [...entries, ...window]) if (at > until) count += each;
	return count;
}
