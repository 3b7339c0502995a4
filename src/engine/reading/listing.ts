import { recordTypeOf } from "../../kernel/record-types.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { isWithin } from "../../kernel/target.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { findByKey } from "./key-lookup.ts";
import { type Filter, matching, type Search, searchOf } from "./list-filter.ts";
import { indexFor, type ListIndex } from "./list-index.ts";
import { compare, firstOfAll } from "./queue-merge.ts";
import type { Found } from "./showing.ts";

/**
 * Executions, newest first. Each stands in one queue of an index, at a position that never changes; so a page is a merge of
 * the queues asked for, and a cursor is simply the last position looked at. What the index does not tell is found by looking
 * at the records.
 */

interface Place extends QueuePosition {
	partition: number;
}

/** Records looked at in one call, whatever they match; a call that ends here has a cursor and perhaps nothing else. */
const MAX_LOOKED_AT = 2000;
/** Records looked at in one step when most may not match. */
const STEP = 250;
/** Records read at a time, and how long their documents may be together: a call that comes to that ends there too. */
const READ_AT_ONCE = 100;
const MAX_CHARS = 4 * 1024 * 1024;

export async function findExecutions(
	session: Session,
	filter: Filter,
	limit: number,
	cursor: string | undefined,
): Promise<{ found: Found[]; nextCursor?: string }> {
	const search = searchOf(session, filter);
	const index = indexFor(session, search);
	if (search.idempotencyKey !== undefined) return { found: await onlyOfKey(session, search, cursor) };
	const found: Found[] = [];
	const { cursors } = session.engine;
	let after = later(index.start, await cursors.after(index.name, cursor));
	// What is asked for may rule itself out.
	if (search.states?.size === 0) return { found };
	for (let lookedAt = 0, chars = 0; ; ) {
		const step = index.isNarrow ? STEP : limit - found.length;
		const places = await nextPlaces(session, index, step + 1, after);
		const wanted = places.slice(0, step);
		let taken = 0;
		while (taken < wanted.length && found.length < limit && chars < MAX_CHARS) {
			const read = await recordsAt(session, wanted.slice(taken, taken + READ_AT_ONCE));
			// Then nothing of it is there for this caller, and how much there is must not show in how it is looked at.
			if (index.isOfOneNamespace && read.records.some((each) => each && isForeign(each, search))) return { found };
			chars += read.chars;
			for (const match of await matching(session, search, read.records)) {
				if (found.length === limit) break;
				after = places[taken++];
				if (match) found.push(match);
			}
		}
		lookedAt += taken;
		if (taken === places.length) return { found };
		if (after && (found.length === limit || lookedAt >= MAX_LOOKED_AT || chars >= MAX_CHARS)) {
			return { found, nextCursor: await cursors.at(index.name, after) };
		}
	}
}

/** A key leads to one execution at most, so there is never a page to go on from. */
async function onlyOfKey(session: Session, search: Search, cursor: string | undefined): Promise<Found[]> {
	const { namespace = "", idempotencyKey = "" } = search;
	await session.engine.cursors.after(`key of ${namespace}`, cursor);
	const found = await findByKey(session, namespace, idempotencyKey);
	const [match] = await matching(session, search, [found]);
	return match ? [match] : [];
}

const isForeign = ({ record }: Found, { namespace }: Search): boolean => !isWithin(record.namespace, namespace);

const later = (a: QueuePosition | undefined, b: QueuePosition | undefined): QueuePosition | undefined =>
	a && b ? (compare(a, b) > 0 ? a : b) : (a ?? b);

async function nextPlaces(
	session: Session,
	index: ListIndex,
	count: number,
	after: QueuePosition | undefined,
): Promise<Place[]> {
	const pages = await Promise.all(
		index.partitions.map(async (partition) => {
			const entries = await entriesIn(session.engine.runner(partition), index, count, after);
			return entries.map(({ score, key }) => ({ score, key, partition }));
		}),
	);
	const merged = pages.flat().filter(({ score }) => index.isWithin(score));
	merged.sort(compare);
	// What moved between two queues while they were read may stand in both.
	return merged.filter((place, n) => place.key !== merged[n - 1]?.key).slice(0, count);
}

/**
 * The first entries of all queues asked for. What moves from one to another while they are read may be seen in neither:
 * when something was written meanwhile they are read once more, and what either reading shows counts.
 */
async function entriesIn(
	runner: PartitionRunner,
	index: ListIndex,
	count: number,
	after: QueuePosition | undefined,
): Promise<QueuePosition[]> {
	const readAll = async (): Promise<QueuePosition[]> => firstOfAll(runner, await index.queuesIn(runner), count, after);
	if (index.isOneQueue) return readAll();
	const lastCommit = async () => (await runner.ask((store, at) => store.lastCommit(at))).commit;
	// One after the other: a store may answer in any order what it is asked at the same time.
	const before = await lastCommit();
	const entries = await readAll();
	return before === (await lastCommit()) ? entries : [...entries, ...(await readAll())];
}

/** What stands at each place, undefined where nothing is any more, or nothing that can be read; and how long it all is. */
async function recordsAt(
	session: Session,
	places: readonly Place[],
): Promise<{ records: (Found | undefined)[]; chars: number }> {
	const keys = new Map<number, string[]>();
	for (const { partition, key } of places) {
		const there = keys.get(partition);
		if (there) there.push(key);
		else keys.set(partition, [key]);
	}
	const found = new Map<string, Found>();
	let chars = 0;
	await Promise.all(
		[...keys].map(async ([partition, wanted]) => {
			const runner = session.engine.runner(partition);
			const { records } = await runner.ask((store, at) => store.read(at, wanted));
			for (const stored of records) {
				chars += stored.doc.length;
				const record = stored.version > 0 ? session.decodeReadable<ExecutionRecord>(stored) : undefined;
				// A damaged index may name anything; what is no execution is not shown as one.
				if (record && recordTypeOf(stored.key) === "execution") found.set(stored.key, { record, runner });
			}
		}),
	);
	return { records: places.map(({ key }) => found.get(key)), chars };
}
