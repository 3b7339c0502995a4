import { randomUUID } from "node:crypto";
import { IndexMender } from "../../engine/duties/index-mender.ts";
import { type AskPartition, type DriftedEntry, IndexWalk } from "../../engine/duties/index-walk.ts";
import { readWholeFlow } from "../../engine/flows/whole-flow.ts";
import { auditFlow } from "../../kernel/flows/auditing.ts";
import { kernel } from "../../kernel/kernel.ts";
import { recordTypeOf } from "../../kernel/record-types.ts";
import { type Store, type StoredRecord, StoreError } from "../../store/port.ts";
import { allRecords } from "../../store/scanning.ts";
import { checkEvents } from "./event-check.ts";
import { checkPayloads } from "./payload-check.ts";
import { checkStream } from "./stream-check.ts";
import { count, emptyTally, MOST_SAMPLES, type Tally } from "./tally.ts";

const PROGRESS_STEP = 500;
const RECORDS_PER_PAGE = 500;

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
	/** Frames of all streams. */
	frames: number;
	/** Flows that were looked over whole. */
	flows: number;
	/** Events of all logs. */
	events: number;
	/** What of payloads, streams, flows and events is not as it should be: how often, and some of it. */
	damage: { count: number; samples: string[] };
	/** What could not be looked over, and why. */
	unread: string[];
}

/** Reads every record and every index entry, a page at a time; with a mender also puts right what differs. */
export async function auditStore(store: Store, repair: boolean, onProgress: (looked: number) => void): Promise<Audit> {
	const audit: Audit = {
		tally: emptyTally(),
		indexEntries: 0,
		drift: none(),
		mended: none(),
		frames: 0,
		flows: 0,
		events: 0,
		damage: { count: 0, samples: [] },
		unread: [],
	};
	const mender = repair ? new IndexMender(`doctor ${randomUUID()}`) : undefined;
	for (let partition = 0; partition < store.partitions; partition++) {
		const before = structuredClone(audit.tally);
		const isWhole = await unlessDamaged(audit, `all of partition ${partition}`, () =>
			auditPartition(store, partition, mender, audit, onProgress),
		);
		if (!isWhole) {
			audit.tally = before;
			await unlessDamaged(audit, `more records of partition ${partition}`, () =>
				tallyPartition(store, partition, audit.tally),
			);
		}
		await unlessDamaged(audit, `all events of partition ${partition}`, () => addEvents(store, partition, audit));
	}
	return audit;
}

/** Where the store is damaged the rest is still looked over; false then. */
async function unlessDamaged({ unread }: Audit, what: string, look: () => Promise<void>): Promise<boolean> {
	try {
		await look();
		return true;
	} catch (error) {
		if (!(error instanceof StoreError) || error.code !== "store_corrupt") throw error;
		unread.push(`could not look over ${what}: ${error.message}`);
		return false;
	}
}

/** Only the records: they tell what is left, and what is lost, where the index cannot be read. */
async function tallyPartition(store: Store, partition: number, tally: Tally): Promise<void> {
	for await (const { key, doc } of allRecords(store, partition, RECORDS_PER_PAGE)) count(tally, partition, key, doc);
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
		const readable: StoredRecord[] = [];
		for (const record of page.records) {
			const { key, doc } = record;
			if (store.scansRepeat && seen.has(key)) continue;
			if (store.scansRepeat) seen.add(key);
			const isReadable = count(audit.tally, partition, key, doc);
			if (isReadable) readable.push(record);
			if (isReadable && recordTypeOf(key) === "stream") await addStream(audit, ask, key, doc);
			if (isReadable && recordTypeOf(key) === "flow") await addFlow(audit, ask, key);
			if (audit.tally.total % PROGRESS_STEP === 0) onProgress(audit.tally.total);
		}
		addDamage(audit, await checkPayloads(ask, readable));
		audit.indexEntries += page.entries;
		const mended = new Set(mender ? await mender.mend(ask, page.drift) : []);
		for (const entry of page.drift) take(mended.has(entry) ? audit.mended : audit.drift, { ...entry, partition });
	}
}

async function addStream(audit: Audit, ask: AskPartition, key: string, doc: string): Promise<void> {
	const { frames, problems } = await checkStream(ask, key, doc);
	audit.frames += frames;
	addDamage(audit, problems);
}

async function addFlow(audit: Audit, ask: AskPartition, flowId: string): Promise<void> {
	const whole = await readWholeFlow(ask, kernel, flowId);
	if (!whole) return;
	audit.flows += 1;
	addDamage(audit, auditFlow(whole));
}

async function addEvents(store: Store, partition: number, audit: Audit): Promise<void> {
	const ask: AskPartition = (question) => question(store, partition);
	audit.events += await checkEvents(ask, partition, (problem) => addDamage(audit, [problem]));
}

function addDamage({ damage }: Audit, problems: readonly string[]): void {
	damage.count += problems.length;
	for (const problem of problems) if (damage.samples.length < MOST_SAMPLES) damage.samples.push(problem);
}

const none = (): Sorted => ({ missing: 0, stale: 0, samples: [] });

function take(sorted: Sorted, entry: FoundEntry): void {
	sorted[entry.problem] += 1;
	if (sorted.samples.length < MOST_SAMPLES) sorted.samples.push(entry);
}
