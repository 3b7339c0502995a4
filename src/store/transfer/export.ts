import { type LoggedEvent, type LogPosition, type RecordFormat, type Snapshot, StoreError } from "../port.ts";
import { allBlobKeys, allRecords } from "../scanning.ts";
import type { Counts, Line } from "./line.ts";

type Exportable = Snapshot["store"];

export interface ExportOptions extends Pick<RecordFormat, "format"> {
	/** Records that stay behind; none when left out. */
	isLeftOut?(key: string): boolean;
}

const RECORDS_PER_PAGE = 500;
const EVENTS_PER_PAGE = 200;
const BLOBS_PER_PAGE = 100;

/**
 * All a store holds, as lines without their line ends; the index is left out, since it follows from the records, and so
 * are events whose owner is gone. Only a page is in memory at a time. Nothing should write meanwhile: an export is no
 * snapshot, but can be made of one.
 */
export async function* exportStore(store: Exportable, { format, isLeftOut }: ExportOptions): AsyncIterable<string> {
	const counts: Counts = { records: 0, blobs: 0, events: 0 };
	yield text({ flowfabric: "export", format, partitions: store.partitions });
	for (let partition = 0; partition < store.partitions; partition++) {
		for await (const { key, doc } of allRecords(store, partition, RECORDS_PER_PAGE)) {
			if (isLeftOut?.(key)) continue;
			if (doc === "") throw unreadable(`record ${key}`, partition);
			counts.records += 1;
			yield text({ record: key, partition, doc });
		}
		for await (const { key, bytes } of blobs(store, partition)) {
			counts.blobs += 1;
			yield text({ blob: key, partition, base64: Buffer.from(bytes).toString("base64") });
		}
	}
	for await (const { partition, event } of allEvents(store)) {
		counts.events += 1;
		const { owner, log, group, at, body } = event;
		yield text({ event: owner, partition, log, ...(group === undefined ? undefined : { group }), at, body });
	}
	yield text({ end: counts });
}

/** An export that lacks something is worse than none: it would be taken for a backup. */
function unreadable(what: string, partition: number): StoreError {
	const message = `the ${what} of partition ${partition} cannot be read; run \`flowfabric doctor\` on the store`;
	return new StoreError(message, { applied: "no", code: "store_corrupt" });
}

const text = (line: Line): string => JSON.stringify(line);

/** Blobs one by one: each may be as large as many pages of records. */
async function* blobs(store: Exportable, partition: number) {
	for await (const key of allBlobKeys(store, partition, BLOBS_PER_PAGE)) {
		const [bytes] = (await store.readBlobs(partition, [key])).blobs;
		if (bytes) yield { key, bytes };
	}
}

/** Log after log, each merged by time over the partitions: where these become fewer, it does not jump back and forth. */
async function* allEvents(store: Exportable) {
	const partitions = [...Array(store.partitions).keys()];
	const names = await Promise.all(partitions.map(async (partition) => (await store.logs(partition)).logs));
	for (const log of new Set(names.flat().sort())) {
		const holders = partitions.filter((partition) => names[partition]?.includes(log));
		yield* mergedByTime(holders.map((partition) => ({ partition, events: eventsOf(store, partition, log) })));
	}
}

async function* mergedByTime(sources: { partition: number; events: AsyncGenerator<LoggedEvent, undefined> }[]) {
	const heads = await Promise.all(
		sources.map(async (source) => ({ ...source, event: (await source.events.next()).value })),
	);
	for (;;) {
		const earliest = heads.reduce((best, one) =>
			(one.event?.at ?? Infinity) < (best.event?.at ?? Infinity) ? one : best,
		);
		if (!earliest.event) return;
		yield { partition: earliest.partition, event: earliest.event };
		earliest.event = (await earliest.events.next()).value;
	}
}

async function* eventsOf(store: Exportable, partition: number, log: string): AsyncGenerator<LoggedEvent, undefined> {
	let after: LogPosition | undefined;
	for (;;) {
		const page = (await store.events(partition, log, undefined, after, EVENTS_PER_PAGE)).events;
		const torn = page.find(({ owner }) => owner === "");
		if (torn) throw unreadable(`commit ${torn.commit} of the events of ${log}`, partition);
		yield* await withoutOrphans(store, partition, page, after);
		if (page.length < EVENTS_PER_PAGE) return;
		after = page.at(-1);
	}
}

/** The log does not tell which owners were forgotten; their histories do. */
async function withoutOrphans(
	store: Exportable,
	partition: number,
	page: readonly LoggedEvent[],
	after: LogPosition | undefined,
): Promise<LoggedEvent[]> {
	const kept = new Set<string>();
	await Promise.all(
		[...new Map(page.map(({ owner, log }) => [owner, log]))].map(async ([owner, log]) => {
			// A group's history holds its members' events too, and no more of both than the page.
			const { events } = await store.events(partition, log, owner, after, page.length);
			for (const event of events) if (event.owner === owner) kept.add(place(event));
		}),
	);
	return page.filter((event) => kept.has(place(event)));
}

const place = ({ commit, index }: LogPosition): string => `${commit}:${index}`;
