import { randomUUID } from "node:crypto";
import { IndexMender } from "../../engine/duties/index-mender.ts";
import { type AskPartition, type DriftedEntry, IndexWalk } from "../../engine/duties/index-walk.ts";
import { kernel } from "../../kernel/kernel.ts";
import type { Store } from "../../store/port.ts";
import { count, emptyTally, MOST_SAMPLES, type Tally } from "./tally.ts";

const PROGRESS_STEP = 500;

export interface FoundEntry extends DriftedEntry {
	partition: number;
}

/** Entries of one sort: how many there are, and some of them. */
export interface Sorted {
	missing: number;
	stale: number;
	samples: FoundEntry[];
}

/** What is in a store, and whether its index is what the records say. */
export interface Audit {
	tally: Tally;
	indexEntries: number;
	/** What differs now; what was mended does not any more. */
	drift: Sorted;
	mended: Sorted;
}

/** Reads every record and every index entry, a page at a time; with a mender also puts right what differs. */
export async function auditStore(store: Store, repair: boolean, onProgress: (looked: number) => void): Promise<Audit> {
	const audit: Audit = { tally: emptyTally(), indexEntries: 0, drift: none(), mended: none() };
	const mender = repair ? new IndexMender(`doctor ${randomUUID()}`) : undefined;
	for (let partition = 0; partition < store.partitions; partition++)
		await auditPartition(store, partition, mender, audit, onProgress);
	return audit;
}

async function auditPartition(
	store: Store,
	partition: number,
	mender: IndexMender | undefined,
	audit: Audit,
	onProgress: (looked: number) => void,
): Promise<void> {
	const ask: AskPartition = (question) => question(store, partition);
	const walk = new IndexWalk(ask, kernel);
	const seen = new Set<string>();
	for (let page = await walk.step(); page; page = await walk.step()) {
		for (const { key, doc } of page.records) {
			if (store.scansRepeat && seen.has(key)) continue;
			if (store.scansRepeat) seen.add(key);
			count(audit.tally, partition, key, doc);
			if (audit.tally.total % PROGRESS_STEP === 0) onProgress(audit.tally.total);
		}
		audit.indexEntries += page.entries;
		const mended = new Set(mender ? await mender.mend(ask, page.drift) : []);
		for (const entry of page.drift) take(mended.has(entry) ? audit.mended : audit.drift, { ...entry, partition });
	}
}

const none = (): Sorted => ({ missing: 0, stale: 0, samples: [] });

function take(sorted: Sorted, entry: FoundEntry): void {
	sorted[entry.problem] += 1;
	if (sorted.samples.length < MOST_SAMPLES) sorted.samples.push(entry);
}
