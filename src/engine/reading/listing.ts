import type { ListRequest } from "../../contract/executions.ts";
import { listQueue, listQueuePrefix } from "../../kernel/placement.ts";
import type { ExecutionRecord } from "../../kernel/records/execution.ts";
import { publicState } from "../../kernel/state.ts";
import { hasTag } from "../../kernel/tags.ts";
import { isFor } from "../../kernel/target.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { positionAfter, positionCursor } from "./cursor.ts";
import { compare, firstOfAll } from "./queue-merge.ts";
import type { Found } from "./showing.ts";

/**
 * Executions of a namespace, newest first. Each stands in one list queue, named by lane and state, at a position that
 * never changes; so a page is a merge of the queues asked for, and a cursor is simply the last position looked at.
 * Namespace, lane, state and time are found by the index; kind and tag by looking at the records.
 */

export type Filter = Omit<ListRequest, "limit" | "cursor">;

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
	const search = { ...filter, namespace: session.namespaceFor(filter.namespace) };
	const partitions = [...session.engine.runners.keys()];
	const tag = splitTag(filter.tag);
	const isNarrow = filter.kind !== undefined || tag !== undefined;
	const found: Found[] = [];
	let after = startOf(filter, cursor);
	for (let lookedAt = 0, chars = 0; ; ) {
		const step = isNarrow ? STEP : limit - found.length;
		const places = await nextPlaces(session, search, partitions, step + 1, after);
		const wanted = places.slice(0, step);
		let taken = 0;
		while (taken < wanted.length && found.length < limit && chars < MAX_CHARS) {
			const read = await recordsAt(session, wanted.slice(taken, taken + READ_AT_ONCE));
			chars += read.chars;
			for (const record of read.records) {
				if (found.length === limit) break;
				after = places[taken++];
				if (record && matches(record.record, search, tag)) found.push(record);
			}
		}
		lookedAt += taken;
		if (taken === places.length) return { found };
		if (after && (found.length === limit || lookedAt >= MAX_LOOKED_AT || chars >= MAX_CHARS)) {
			return { found, nextCursor: positionCursor("l", after) };
		}
	}
}

function matches(record: ExecutionRecord, filter: Filter, tag: [key: string, value: string] | undefined): boolean {
	return (
		isFor(record, filter.namespace) &&
		// It may have moved on since its queue was read.
		(filter.state === undefined || publicState(record) === filter.state) &&
		(filter.kind === undefined || record.kind === filter.kind) &&
		(tag === undefined || hasTag(record.tags, tag[0], tag[1]))
	);
}

function splitTag(tag: string | undefined): [key: string, value: string] | undefined {
	if (tag === undefined) return undefined;
	const colon = tag.indexOf(":");
	return [tag.slice(0, colon), tag.slice(colon + 1)];
}

/** Scores are negated times: what was created before a time stands behind that of the millisecond before it. */
function startOf({ createdBefore }: Filter, cursor: string | undefined): QueuePosition | undefined {
	const bound = createdBefore === undefined ? undefined : { score: 1 - createdBefore, key: "" };
	if (cursor === undefined) return bound;
	const last = positionAfter("l", cursor);
	return bound && last && compare(bound, last) > 0 ? bound : last;
}

async function nextPlaces(
	session: Session,
	filter: Filter & { namespace: string },
	partitions: readonly number[],
	count: number,
	after: QueuePosition | undefined,
): Promise<Place[]> {
	const { createdAfter } = filter;
	const pages = await Promise.all(
		partitions.map(async (partition) => {
			const entries = await entriesIn(session.engine.runner(partition), filter, count, after);
			return entries.map(({ score, key }) => ({ score, key, partition }));
		}),
	);
	const merged = pages.flat().filter(({ score }) => createdAfter === undefined || -score >= createdAfter);
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
	filter: Filter & { namespace: string },
	count: number,
	after: QueuePosition | undefined,
): Promise<QueuePosition[]> {
	const readAll = async (): Promise<QueuePosition[]> =>
		firstOfAll(runner, await queuesFor(runner, filter), count, after);
	if (filter.lane !== undefined && filter.state !== undefined) return readAll();
	const lastCommit = async () => (await runner.ask((store, at) => store.lastCommit(at))).commit;
	// One after the other: a store may answer in any order what it is asked at the same time.
	const before = await lastCommit();
	const entries = await readAll();
	return before === (await lastCommit()) ? entries : [...entries, ...(await readAll())];
}

async function queuesFor(
	runner: PartitionRunner,
	{ namespace, lane, state }: Filter & { namespace: string },
): Promise<string[]> {
	if (lane !== undefined && state !== undefined) return [listQueue(namespace, lane, state)];
	const { queues } = await runner.ask((store, partition) => store.queues(partition, listQueuePrefix(namespace, lane)));
	return state === undefined ? queues : queues.filter((queue) => queue.endsWith(`,${state}`));
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
				if (record) found.set(stored.key, { record, runner });
			}
		}),
	);
	return { records: places.map(({ key }) => found.get(key)), chars };
}
