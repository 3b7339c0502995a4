import type { ListRequest } from "../contract/executions.ts";
import type { ExecutionPage } from "../contract/replies.ts";
import { listQueue, listQueuePrefix } from "../kernel/placement.ts";
import type { ExecutionRecord } from "../kernel/records/execution.ts";
import { publicState } from "../kernel/state.ts";
import type { QueuePosition } from "../store/port.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import type { PartitionRunner } from "./partition-runner.ts";
import { executionView } from "./views.ts";

type Decode = (key: string, doc: string) => object | undefined;

/**
 * Executions of a namespace, newest first. Each stands in one list queue, named by lane and state, at a position that
 * never changes; so a page is a merge of the queues asked for, and a cursor is simply the last position shown.
 */
export async function listExecutions(
	runners: readonly PartitionRunner[],
	request: ListRequest,
	decode: Decode,
): Promise<ExecutionPage> {
	const { namespace = "default", lane, state, limit = 100, cursor } = request;
	const [score, key] = cursor === undefined ? [] : decodeCursor("l", cursor, ["number", "string"]);
	const after = key === undefined ? undefined : { score: Number(score), key: String(key) };

	const found = await Promise.all(
		runners.map((runner) => firstOf(runner, { namespace, lane, state }, limit + 1, after)),
	);
	const merged = found.flat().sort((a, b) => a.score - b.score || (a.key < b.key ? -1 : 1));
	const page = merged.filter((entry, n) => entry.key !== merged[n - 1]?.key).slice(0, limit);
	const views = await Promise.all(
		runners.map(async (runner, n) => {
			const keys = page.filter((entry) => entry.runner === runner).map((entry) => entry.key);
			if (keys.length === 0) return [];
			const { records } = await runner.ask((store) => store.read(n, keys));
			return records
				.filter((record) => record.version > 0)
				.map((record) => decode(record.key, record.doc) as ExecutionRecord | undefined)
				.filter((record) => record !== undefined)
				.filter((record) => !record.removing && (state === undefined || publicState(record) === state))
				.map((record) => executionView(record, runner.time.now()));
		}),
	);
	const byId = new Map(views.flat().map((view) => [view.id, view]));
	const executions = page.map((entry) => byId.get(entry.key)).filter((view) => view !== undefined);
	const last = page.at(-1);
	if (merged.length <= page.length || !last) return { executions };
	return { executions, nextCursor: encodeCursor("l", [last.score, last.key]) };
}

interface Filter {
	namespace: string;
	lane: string | undefined;
	state: ListRequest["state"];
}

async function firstOf(runner: PartitionRunner, filter: Filter, count: number, after: QueuePosition | undefined) {
	const queues = await queuesFor(runner, filter);
	const pages = await Promise.all(
		queues.map((queue) => runner.ask((store, partition) => store.first(partition, queue, count, after))),
	);
	return pages.flatMap(({ entries }) => entries.map((entry) => ({ ...entry, runner })));
}

async function queuesFor(runner: PartitionRunner, { namespace, lane, state }: Filter): Promise<string[]> {
	if (lane !== undefined && state !== undefined) return [listQueue(namespace, lane, state)];
	const { queues } = await runner.ask((store, partition) => store.queues(partition, listQueuePrefix(namespace, lane)));
	return state === undefined ? queues : queues.filter((queue) => queue.endsWith(`,${state}`));
}
