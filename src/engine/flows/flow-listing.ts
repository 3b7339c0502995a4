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
	const found = await mapBounded(wanted, IN_FLIGHT, async ({ runner, key }): Promise<FlowSummary | undefined> => {
		const [flow] = await readRecords<FlowRecord>(session, runner, [key]);
		if (!flow || !isFlowFor(flow, namespace) || (kind !== undefined && flow.kind !== kind)) return undefined;
		// It may be deleted just now.
		return reader.summary(flow.id).catch(() => undefined);
	});
	const last = places.length > limit ? wanted.at(-1) : undefined;
	const flows = found.filter((flow) => flow !== undefined);
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
