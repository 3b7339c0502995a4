import type { ListRequest } from "../../contract/executions.ts";
import { slotOfGivenId } from "../../contract/ids.ts";
import { childrenQueue, flowQueue, listQueue, listQueuePrefix } from "../../kernel/placement.ts";
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
 * Executions, newest first. Each stands in one queue of an index, at a position that never changes; so a page is a merge of
 * the queues asked for, and a cursor is simply the last position looked at. What the index does not tell is found by looking
 * at the records.
 */

export type Filter = Omit<ListRequest, "limit" | "cursor">;
/** Without a namespace: those of all that the caller may see. */
type Search = Omit<Filter, "namespace"> & { namespace: string | undefined };

interface Place extends QueuePosition {
	partition: number;
}

/** An index that a list is read by. */
interface ListIndex {
	/** The letter of its cursors. */
	letter: string;
	partitions: readonly number[];
	/** What is asked for is one queue of each partition, which is read in one piece. */
	isOneQueue: boolean;
	/** Whether most of what it finds may not match. */
	isNarrow: boolean;
	/** Where to begin when it is not at the first. */
	start?: QueuePosition;
	queuesIn(runner: PartitionRunner): Promise<string[]>;
	isWithin(score: number): boolean;
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
	const { flowId, parentId } = filter;
	// A flow, and a parent, say by themselves where they are.
	const isEnough = (flowId ?? parentId) !== undefined && filter.namespace === undefined;
	const namespace = isEnough ? session.caller.namespace : session.namespaceFor(filter.namespace);
	const search: Search = { ...filter, namespace };
	const index = indexFor(session, search);
	const tag = splitTag(filter.tag);
	const found: Found[] = [];
	let after = later(index.start, positionAfter(index.letter, cursor));
	for (let lookedAt = 0, chars = 0; ; ) {
		const step = index.isNarrow ? STEP : limit - found.length;
		const places = await nextPlaces(session, index, step + 1, after);
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
			return { found, nextCursor: positionCursor(index.letter, after) };
		}
	}
}

function indexFor(session: Session, search: Search): ListIndex {
	const { flowId, parentId } = search;
	if (parentId !== undefined) return parentIndex(session, parentId, search);
	return flowId === undefined ? namespaceIndex(session, search) : flowIndex(session, flowId, search);
}

/** All of a namespace: a queue for each lane and state. Scores are negated times of creation. */
function namespaceIndex(session: Session, search: Search): ListIndex {
	const { namespace = "", lane, state, createdAfter, createdBefore } = search;
	return {
		letter: "l",
		partitions: [...session.engine.runners.keys()],
		isOneQueue: lane !== undefined && state !== undefined,
		isNarrow: search.kind !== undefined || search.tag !== undefined,
		// What was created before a time stands behind that of the millisecond before it.
		...(createdBefore === undefined ? undefined : { start: { score: 1 - createdBefore, key: "" } }),
		async queuesIn(runner) {
			if (lane !== undefined && state !== undefined) return [listQueue(namespace, lane, state)];
			const prefix = listQueuePrefix(namespace, lane);
			const { queues } = await runner.ask((store, partition) => store.queues(partition, prefix));
			return state === undefined ? queues : queues.filter((queue) => queue.endsWith(`,${state}`));
		},
		isWithin: (score) => createdAfter === undefined || -score >= createdAfter,
	};
}

/** The members of a flow: one queue. Scores are negated numbers. */
function flowIndex(session: Session, flowId: string, search: Search): ListIndex {
	const { state, kind, tag, lane, createdAfter, createdBefore } = search;
	return {
		letter: "f",
		partitions: [session.engine.runnerOfFlow(flowId, "flowId").partition],
		isOneQueue: true,
		isNarrow: [state, kind, tag, lane, createdAfter, createdBefore].some((each) => each !== undefined),
		queuesIn: async () => [flowQueue(flowId)],
		isWithin: () => true,
	};
}

/** The children of an execution: one queue. Scores are as those of a namespace. */
function parentIndex(session: Session, parentId: string, search: Search): ListIndex {
	const { state, kind, tag, lane, flowId } = search;
	return {
		...namespaceIndex(session, search),
		letter: "c",
		partitions: [slotOfGivenId("ex", parentId, "parentId") % session.engine.runners.length],
		isOneQueue: true,
		isNarrow: [state, kind, tag, lane, flowId].some((each) => each !== undefined),
		queuesIn: async () => [childrenQueue(parentId)],
	};
}

function matches(record: ExecutionRecord, filter: Search, tag: [key: string, value: string] | undefined): boolean {
	const { state, kind, lane, flowId, createdAfter, createdBefore } = filter;
	return (
		isFor(record, filter.namespace) &&
		(flowId === undefined || record.flowId === flowId) &&
		// It may have moved on since its queue was read.
		(state === undefined || publicState(record) === state) &&
		(kind === undefined || record.kind === kind) &&
		(lane === undefined || record.lane === lane) &&
		(createdAfter === undefined || record.createdAt >= createdAfter) &&
		(createdBefore === undefined || record.createdAt < createdBefore) &&
		(tag === undefined || hasTag(record.tags, tag[0], tag[1]))
	);
}

function splitTag(tag: string | undefined): [key: string, value: string] | undefined {
	if (tag === undefined) return undefined;
	const colon = tag.indexOf(":");
	return [tag.slice(0, colon), tag.slice(colon + 1)];
}

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
				if (record) found.set(stored.key, { record, runner });
			}
		}),
	);
	return { records: places.map(({ key }) => found.get(key)), chars };
}
