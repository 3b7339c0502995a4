import { indexOf } from "../../kernel/format.ts";
import { faultOf } from "../../kernel/records/inspect.ts";
import type { IndexEntry, QueuePosition, Store } from "../../store/port.ts";
import { allRecords } from "../../store/scanning.ts";
import { count, emptyTally, MOST_SAMPLES, type Tally } from "./tally.ts";

const PAGE = 500;
/** A record that changes all the while is not worth more looks. */
const MOST_LOOKS = 20;

export interface DriftedEntry extends IndexEntry {
	partition: number;
	problem: "missing" | "stale";
}

/** What is in a store, and whether its index is what the records say. */
export interface Audit {
	tally: Tally;
	indexEntries: number;
	drift: { missing: number; stale: number; samples: DriftedEntry[] };
}

/**
 * Reads every record and every index entry, a page at a time. Others may write meanwhile: where record and index seem to
 * differ both are looked at once more, at one moment, and only what differs then counts.
 */
export async function auditStore(store: Store, onProgress: (looked: number) => void): Promise<Audit> {
	const audit: Audit = { tally: emptyTally(), indexEntries: 0, drift: { missing: 0, stale: 0, samples: [] } };
	for (let partition = 0; partition < store.partitions; partition++) {
		const wanted = await lookOverRecords(store, partition, audit, onProgress);
		const rightful = await lookOverIndex(store, partition, audit);
		// Every rightful entry was wanted once, so equal counts leave nothing to look for.
		if (rightful < wanted) await findMissing(store, partition, audit);
	}
	return audit;
}

/** Returns how many index entries the records of a partition should have. */
async function lookOverRecords(
	store: Store,
	partition: number,
	{ tally }: Audit,
	onProgress: (looked: number) => void,
) {
	let wanted = 0;
	for await (const { key, doc } of allRecords(store, partition, PAGE)) {
		if (count(tally, partition, key, doc)) wanted += indexOf(key, doc).length;
		if (tally.total % PAGE === 0) onProgress(tally.total);
	}
	return wanted;
}

/** Returns how many entries stand where their record wants them; all others are stale. */
async function lookOverIndex(store: Store, partition: number, audit: Audit): Promise<number> {
	let rightful = 0;
	const { queues } = await store.queues(partition, "");
	for (const queue of queues) {
		for await (const page of entriesOf(store, partition, queue)) {
			const { records } = await store.read(
				partition,
				page.map(({ key }) => key),
			);
			for (const [n, { key, score }] of page.entries()) {
				audit.indexEntries += 1;
				const record = records[n];
				if (record && record.version > 0 && has(indexOf(key, record.doc), queue, score)) rightful += 1;
				else await drifted(store, audit, { partition, queue, key, score, problem: "stale" });
			}
		}
	}
	return rightful;
}

async function findMissing(store: Store, partition: number, audit: Audit): Promise<void> {
	for await (const { key, doc } of allRecords(store, partition, PAGE)) {
		if (faultOf(key, doc)) continue;
		for (const { queue, score } of indexOf(key, doc)) {
			const entry: DriftedEntry = { partition, queue, key, score, problem: "missing" };
			if (!(await isThere(store, entry))) await drifted(store, audit, entry);
		}
	}
}

/** Keys are ASCII where this matters, and none ends in "~". */
function justBefore(score: number, key: string): QueuePosition {
	const last = key.charCodeAt(key.length - 1);
	return { score, key: `${key.slice(0, -1)}${String.fromCharCode(last - 1)}~` };
}

const has = (places: { queue: string; score: number }[], queue: string, score: number): boolean =>
	places.some((place) => place.queue === queue && place.score === score);

async function isThere(store: Store, { partition, queue, key, score }: DriftedEntry): Promise<boolean> {
	const { entries } = await store.first(partition, queue, 2, justBefore(score, key));
	return entries.some((entry) => entry.key === key && entry.score === score);
}

async function drifted(store: Store, { drift }: Audit, entry: DriftedEntry): Promise<void> {
	if (!(await differs(store, entry))) return;
	drift[entry.problem] += 1;
	if (drift.samples.length < MOST_SAMPLES) drift.samples.push(entry);
}

/** An entry looked at between two reads that give the same version was what it was at that version. */
async function differs(store: Store, entry: DriftedEntry): Promise<boolean> {
	const { partition, key, queue, score } = entry;
	let before = -1;
	for (let tries = 0; tries < MOST_LOOKS; tries++) {
		const there = await isThere(store, entry);
		const [{ version, doc } = { version: 0, doc: "" }] = (await store.read(partition, [key])).records;
		if (version === before) return there !== (version > 0 && has(indexOf(key, doc), queue, score));
		before = version;
	}
	return false;
}

async function* entriesOf(store: Store, partition: number, queue: string) {
	let after: QueuePosition | undefined;
	for (;;) {
		const { entries } = await store.first(partition, queue, PAGE, after);
		if (entries.length > 0) yield entries;
		if (entries.length < PAGE) return;
		after = entries.at(-1);
	}
}
