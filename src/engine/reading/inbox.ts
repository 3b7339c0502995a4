import type { InboxItem } from "../../contract/replies.ts";
import type { InboxRequest } from "../../contract/waitpoints.ts";
import { inboxQueue } from "../../kernel/placement.ts";
import { describeBlocking } from "../../kernel/reading.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import { laneDefaults } from "../../kernel/records/lane.ts";
import { type SuspensionRecord, suspensionKey } from "../../kernel/records/suspension.ts";
import type { WaitpointRecord } from "../../kernel/records/waitpoint.ts";
import { waitpointState } from "../../kernel/suspension/waitpoints.ts";
import type { QueuePosition, StoredRecord } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { compare } from "./queue-merge.ts";

/** Partitions asked at the same time. */
const PARTITIONS_AT_ONCE = 8;
/** Entries looked at for one page: where a filter leaves little, the page is short and the next goes on behind it. */
const MOST_LOOKED_AT = 1000;

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
	const items = await itemsAt(session, looked);
	const waitpoints: InboxItem[] = [];
	let last: Place | undefined;
	for (const place of looked) {
		if (waitpoints.length >= limit) break;
		last = place;
		const item = items.get(place.key);
		if (!item || (filter.key !== undefined && filter.key !== item.key)) continue;
		if (filter.reason === undefined || filter.reason === item.reason) waitpoints.push(item);
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
	const { records } = await runner.ask((store, partition) => store.read(partition, wanted));
	return new Map(
		records.flatMap((stored: StoredRecord): [string, R][] => {
			const record = stored.version > 0 ? session.decodeReadable<R>(stored) : undefined;
			return record ? [[stored.key, record]] : [];
		}),
	);
}
