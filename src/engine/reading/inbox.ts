import type { InboxItem } from "../../contract/replies.ts";
import type { InboxRequest } from "../../contract/waitpoints.ts";
import { inboxQueue } from "../../kernel/placement.ts";
import { describeBlocking } from "../../kernel/reading.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { laneDefaults } from "../../kernel/records/lane.ts";
import { type SuspensionRecord, suspensionKey } from "../../kernel/records/suspension.ts";
import type { WaitpointRecord } from "../../kernel/records/waitpoint.ts";
import { waitpointState } from "../../kernel/suspension/waitpoints.ts";
import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { compare } from "./queue-merge.ts";
import { readRecords } from "./records.ts";

/** Partitions asked at the same time. */
const PARTITIONS_AT_ONCE = 8;
/** Entries looked at for one page: where a filter leaves little, the page is short and the next goes on behind it. */
const MOST_LOOKED_AT = 1000;
/** Of these, read at a time; and characters of signal names with which a page ends. */
const AT_ONCE = 50;
const PAGE_CHARS = 1024 * 1024;

interface Place extends QueuePosition {
	runner: PartitionRunner;
}

/** What waits for somebody in a namespace, longest first, over all partitions. */
export async function readInbox(
	session: Session,
	namespace: string,
	filter: Pick<InboxRequest, "reason" | "key">,
	limit: number,
	after: QueuePosition | undefined,
): Promise<{ waitpoints: InboxItem[]; next?: QueuePosition }> {
	const isFiltered = filter.reason !== undefined || filter.key !== undefined;
	const count = isFiltered ? MOST_LOOKED_AT : limit;
	const pages = await mapBounded(session.engine.runners, PARTITIONS_AT_ONCE, async (runner): Promise<Place[]> => {
		const { entries } = await runner.ask((store, at) => store.first(at, inboxQueue(namespace), count + 1, after));
		return entries.map(({ score, key }) => ({ score, key, runner }));
	});
	const places = pages.flat().sort(compare);
	const looked = places.slice(0, count);
	const waitpoints: InboxItem[] = [];
	let last: Place | undefined;
	let chars = 0;
	for (let from = 0; from < looked.length; from += AT_ONCE) {
		const step = looked.slice(from, from + AT_ONCE);
		const items = await itemsAt(session, step);
		for (const place of step) {
			if (waitpoints.length >= limit || chars >= PAGE_CHARS) break;
			last = place;
			const item = items.get(place.key);
			if (!item || (filter.key !== undefined && filter.key !== item.key)) continue;
			if (filter.reason !== undefined && filter.reason !== item.reason) continue;
			waitpoints.push(item);
			for (const name of item.requiredSignalNames) chars += name.length;
		}
		if (waitpoints.length >= limit || chars >= PAGE_CHARS) break;
	}
	const isMore = last !== undefined && last !== places.at(-1);
	return { waitpoints, ...(isMore && last ? { next: { score: last.score, key: last.key } } : undefined) };
}

async function itemsAt(session: Session, places: readonly Place[]): Promise<Map<string, InboxItem>> {
	const byRunner = new Map<PartitionRunner, string[]>();
	for (const { key, runner } of places) byRunner.set(runner, [...(byRunner.get(runner) ?? []), key]);
	const items = new Map<string, InboxItem>();
	await mapBounded([...byRunner], PARTITIONS_AT_ONCE, async ([runner, keys]) => {
		const waitpoints = await readAll<WaitpointRecord>(session, runner, keys);
		const executions = await readAll<ExecutionRecord>(
			session,
			runner,
			[...waitpoints.values()].map(({ executionId }) => executionKey(executionId)),
		);
		const suspensions = await readAll<SuspensionRecord>(
			session,
			runner,
			[...executions.values()].flatMap(({ id, suspension }) =>
				suspension ? [suspensionKey(id, suspension.number)] : [],
			),
		);
		for (const [id, waitpoint] of waitpoints) {
			const execution = executions.get(executionKey(waitpoint.executionId));
			const number = execution?.suspension?.number;
			const suspension =
				number === undefined ? undefined : suspensions.get(suspensionKey(waitpoint.executionId, number));
			if (!execution || !suspension || waitpointState(waitpoint, execution, runner.time.now()) !== "active") continue;
			items.set(id, itemOf(id, waitpoint, execution, suspension));
		}
	});
	return items;
}

function itemOf(
	id: string,
	{ key, signalNames, activatedAt }: WaitpointRecord,
	execution: ExecutionRecord,
	{ reason, counted }: SuspensionRecord,
): InboxItem {
	const { timeoutAt } = execution.suspension ?? {};
	return {
		id,
		key,
		executionId: execution.id,
		kind: execution.kind,
		namespace: execution.namespace,
		lane: execution.lane,
		reason,
		detail: describeBlocking(execution, laneDefaults),
		requiredSignalNames: [...signalNames],
		since: activatedAt,
		...(timeoutAt === undefined ? undefined : { timeoutAt }),
		signals: counted,
	};
}

async function readAll<R extends object>(
	session: Session,
	runner: PartitionRunner,
	keys: readonly string[],
): Promise<Map<string, R>> {
	const wanted = [...new Set(keys)];
	if (wanted.length === 0) return new Map();
	const records = await readRecords<R>(session, runner, wanted);
	return new Map(records.flatMap((record, n): [string, R][] => (record ? [[wanted[n] as string, record]] : [])));
}
