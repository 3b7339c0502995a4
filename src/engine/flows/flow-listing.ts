import type { FlowsPageRequest } from "../../contract/flows.ts";
import type { FlowPage, FlowSummary } from "../../contract/replies.ts";
import { isFlowFor } from "../../kernel/flows/target.ts";
import { flowsQueue } from "../../kernel/placement.ts";
import type { FlowRecord } from "../../kernel/records/flow.ts";
import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { compare } from "../reading/queue-merge.ts";
import { readRecords } from "../reading/records.ts";
import type { FlowReader } from "./flow-reader.ts";

/** Flows counted at the same time. */
const IN_FLIGHT = 16;
/** Flows read at a time, and characters of tags with which a page ends behind them. */
const AT_ONCE = 50;
const PAGE_CHARS = 1024 * 1024;

interface Place extends QueuePosition {
	runner: PartitionRunner;
}

/** The flows of a namespace, newest first. */
export async function listFlows(
	session: Session,
	reader: FlowReader,
	{ namespace: named, kind }: Pick<FlowsPageRequest, "namespace" | "kind">,
	limit: number,
	cursor: string | undefined,
): Promise<FlowPage> {
	const namespace = session.namespaceFor(named);
	const list = `flows of ${namespace}`;
	const after = await session.engine.cursors.after(list, cursor);
	const places = await placesAfter(session, namespace, limit + 1, after);
	const wanted = places.slice(0, limit);
	const summaryAt = async ({ runner, key }: Place): Promise<FlowSummary | undefined> => {
		const [flow] = await readRecords<FlowRecord>(session, runner, [key]);
		if (!flow || !isFlowFor(flow, namespace) || (kind !== undefined && flow.kind !== kind)) return undefined;
		// It may be deleted just now.
		return reader.summary(flow.id).catch(() => undefined);
	};
	const flows: FlowSummary[] = [];
	let passed = 0;
	for (let chars = 0; passed < wanted.length && chars < PAGE_CHARS; ) {
		const step = wanted.slice(passed, passed + AT_ONCE);
		for (const flow of await mapBounded(step, IN_FLIGHT, summaryAt)) {
			if (!flow) continue;
			flows.push(flow);
			for (const [key, value] of Object.entries(flow.tags)) chars += key.length + value.length;
		}
		passed += step.length;
	}
	const last = passed < places.length ? wanted[passed - 1] : undefined;
	return { flows, ...(last ? { nextCursor: await session.engine.cursors.at(list, last) } : undefined) };
}

async function placesAfter(
	{ engine }: Session,
	namespace: string,
	count: number,
	after: QueuePosition | undefined,
): Promise<Place[]> {
	const queue = flowsQueue(namespace);
	const pages = await Promise.all(
		engine.runners.map(async (runner) => {
			const { entries } = await runner.ask((store, partition) => store.first(partition, queue, count, after));
			return entries.map((entry) => ({ ...entry, runner }));
		}),
	);
	return pages.flat().sort(compare).slice(0, count);
}
