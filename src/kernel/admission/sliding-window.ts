import {
	type QuotaRecord,
	type Rate,
	type WindowChunk,
	type WindowChunkRecord,
	type WindowEntry,
	windowChunkKey,
} from "../records/quota.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/**
 * The admissions a quota counts, by the moment they were made. The latest stand in the quota's own record, earlier ones in
 * chunks beside it, so that no record grows with the limit. An admission counts while it is younger than the window.
 */

const CHUNK_ENTRIES = 64;
/** Above this many per window moments are joined, later ones never to earlier ones: none is forgotten too soon. */
const MOST_MOMENTS = 4096;

const momentOf = ({ max, windowMs }: Rate, now: number): number => {
	const step = max > MOST_MOMENTS ? Math.ceil(windowMs / MOST_MOMENTS) : 1;
	return Math.ceil(now / step) * step;
};

/** The quota without what no longer counts. Chunks that are over go. */
export function trimWindow(tx: Tx, quota: QuotaRecord, now: number): QuotaRecord {
	const until = now - (quota.rate?.windowMs ?? 0);
	const [oldest] = quota.chunks;
	const first = oldest ? oldest.firstAt : quota.window[0]?.[0];
	if (first === undefined || first > until) return quota;
	const chunks: WindowChunk[] = [];
	for (const chunk of quota.chunks) {
		if (chunk.firstAt > until) chunks.push(chunk);
		else if (chunk.lastAt <= until) removeChunk(tx, quota, chunk);
		else {
			const left = keep(entriesOf(tx, quota, chunk), until);
			chunks.push(putChunk(tx, quota, chunk.number, left));
		}
	}
	return amend(quota, { chunks, window: keep(quota.window, until) });
}

/**
 * How many count now. Of a chunk that is partly over, all that were in it when it was last trimmed: the record alone does
 * not tell which are left.
 */
export function counted(
	{ rate, chunks, window }: Pick<QuotaRecord, "rate" | "chunks" | "window">,
	now: number,
): number {
	const until = now - (rate?.windowMs ?? 0);
	let count = 0;
	for (const chunk of chunks) if (chunk.lastAt > until) count += chunk.count;
	for (const [at, each] of window) if (at > until) count += each;
	return count;
}

/** When the oldest leaves a window that was trimmed; undefined when there is none. */
export function freeAt({ rate, chunks, window }: QuotaRecord): number | undefined {
	const oldest = chunks[0]?.firstAt ?? window[0]?.[0];
	return rate && oldest !== undefined ? oldest + rate.windowMs : undefined;
}

export function admitInto(tx: Tx, quota: QuotaRecord, now: number): QuotaRecord {
	if (!quota.rate) return quota;
	const at = momentOf(quota.rate, now);
	const last = quota.window.at(-1);
	if (last && last[0] >= at) {
		const window: WindowEntry[] = [...quota.window.slice(0, -1), [last[0], last[1] + 1]];
		return amend(quota, { window });
	}
	if (quota.window.length < CHUNK_ENTRIES) return amend(quota, { window: [...quota.window, [at, 1]] });
	const chunk = putChunk(tx, quota, quota.nextChunk, quota.window);
	return amend(quota, { chunks: [...quota.chunks, chunk], nextChunk: quota.nextChunk + 1, window: [[at, 1]] });
}

/** Takes one admission of that moment out again, if it still counts. */
export function refundFrom(tx: Tx, quota: QuotaRecord, admittedAt: number): QuotaRecord {
	if (!quota.rate) return quota;
	const at = momentOf(quota.rate, admittedAt);
	const chunk = quota.chunks.find(({ firstAt, lastAt }) => firstAt <= at && at <= lastAt);
	if (!chunk) return amend(quota, { window: without(quota.window, at) });
	const left = without(entriesOf(tx, quota, chunk), at);
	if (left.length === 0) removeChunk(tx, quota, chunk);
	const chunks = quota.chunks.flatMap((each) => {
		if (each !== chunk) return [each];
		return left.length === 0 ? [] : [putChunk(tx, quota, chunk.number, left)];
	});
	return amend(quota, { chunks });
}

/** All of it, when nothing is to be counted any more. */
export function clearWindow(tx: Tx, quota: QuotaRecord): QuotaRecord {
	for (const chunk of quota.chunks) removeChunk(tx, quota, chunk);
	return amend(quota, { chunks: [], window: [] });
}

const keep = (entries: readonly WindowEntry[], until: number): WindowEntry[] => entries.filter(([at]) => at > until);

/**
 * A moment that is not there has left the window, or was joined with another under an earlier limit. Nothing is taken out
 * then: a later moment is somebody else's.
 */
function without(entries: readonly WindowEntry[], at: number): WindowEntry[] {
	const place = entries.findIndex(([each]) => each === at);
	return entries.flatMap(([each, count], n): WindowEntry[] => {
		if (n !== place) return [[each, count]];
		return count > 1 ? [[each, count - 1]] : [];
	});
}

const entriesOf = (tx: Tx, { namespace, id }: QuotaRecord, { number }: WindowChunk): readonly WindowEntry[] =>
	tx.get(windowChunkKey(namespace, id, number))?.entries ?? [];

function putChunk(
	tx: Tx,
	{ namespace, id }: QuotaRecord,
	number: number,
	entries: readonly WindowEntry[],
): WindowChunk {
	const key = windowChunkKey(namespace, id, number);
	const record: WindowChunkRecord = { entries };
	tx.getFresh(key);
	tx.put(key, record);
	const count = entries.reduce((sum, [, each]) => sum + each, 0);
	return { number, firstAt: entries[0]?.[0] ?? 0, lastAt: entries.at(-1)?.[0] ?? 0, count };
}

function removeChunk(tx: Tx, { namespace, id }: QuotaRecord, { number }: WindowChunk): void {
	const key = windowChunkKey(namespace, id, number);
	tx.get(key);
	tx.remove(key);
}
