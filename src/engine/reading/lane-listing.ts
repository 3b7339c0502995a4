import type { LaneView } from "../../contract/replies.ts";
import {
	createdAtOfListEntry,
	lanesQueue,
	listQueue,
	listQueueParts,
	listQueuePrefix,
} from "../../kernel/placement.ts";
import { shownLaneState } from "../../kernel/reading.ts";
import { type LaneRecord, laneDefaults, laneHomeKey, laneKey } from "../../kernel/records/lane.ts";
import type { QueuePosition, QueueSize } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readLanes } from "./showing.ts";

/** Questions to one partition on their way at the same time. */
const IN_FLIGHT = 16;
/** Partitions whose names of lanes are read at the same time. */
const PARTITIONS_AT_ONCE = 8;
/** With more queues than this it is cheaper to ask for the sizes of each lane of the page than for all. */
const FEW_QUEUES = 500;
const PAGE = 1000;

/** What one partition knows of a lane. */
interface LaneShare {
	depth: LaneView["depth"];
	oldestWaitingMs: number | undefined;
	copy: LaneRecord;
}

/** The lanes one partition has something to say about, and in how many queues its executions are listed. */
interface LaneNames {
	runner: PartitionRunner;
	lanes: Set<string>;
	queues: number;
}

/**
 * Lanes of a namespace by name, those behind one. Their names are read from every partition; what is in them is asked for
 * the lanes of the page alone.
 */
export async function listLanes(
	session: Session,
	namespace: string,
	limit: number,
	after: string,
): Promise<{ lanes: LaneView[]; next?: string }> {
	const { engine } = session;
	const named = await mapBounded(engine.runners, PARTITIONS_AT_ONCE, (runner) => namesIn(runner, namespace, after));
	const all = new Set<string>();
	for (const { lanes } of named) for (const lane of lanes) all.add(lane);
	const page = [...all].sort().slice(0, limit);
	const shares = new Map<string, LaneShare[]>(page.map((lane) => [lane, []]));
	await mapBounded(named, PARTITIONS_AT_ONCE, async (names) => {
		const here = page.filter((lane) => names.lanes.has(lane));
		for (const [lane, share] of await sharesIn(session, names, namespace, here)) shares.get(lane)?.push(share);
	});
	const now = engine.now();
	const lanes = page.map((lane) =>
		laneView(lane, shares.get(lane) ?? [], engine.throughput.perMinute(namespace, lane, now)),
	);
	const last = page.at(-1);
	return { lanes, ...(last !== undefined && all.size > page.length ? { next: last } : undefined) };
}

async function namesIn(runner: PartitionRunner, namespace: string, after: string): Promise<LaneNames> {
	const { queues } = await runner.ask((store, partition) => store.queues(partition, listQueuePrefix(namespace)));
	const lanes = new Set<string>();
	for (const queue of queues) {
		const { lane } = listQueueParts(namespace, queue);
		if (lane > after) lanes.add(lane);
	}
	for (const lane of await setApart(runner, namespace)) if (lane > after) lanes.add(lane);
	return { runner, lanes, queues: queues.length };
}

/** Lanes with their home in this partition that are not as a lane nobody has touched; each key ends in its name. */
export async function setApart(runner: PartitionRunner, namespace: string): Promise<string[]> {
	const lanes: string[] = [];
	let after: QueuePosition | undefined;
	do {
		const position = after;
		const { entries } = await runner.ask((store, partition) =>
			store.first(partition, lanesQueue(namespace), PAGE, position),
		);
		for (const { key } of entries) lanes.push(key.slice(laneHomeKey(namespace, "").length));
		after = entries.length < PAGE ? undefined : entries.at(-1);
	} while (after);
	return lanes;
}

async function sharesIn(
	session: Session,
	{ runner, queues }: LaneNames,
	namespace: string,
	lanes: readonly string[],
): Promise<[lane: string, share: LaneShare][]> {
	if (lanes.length === 0) return [];
	const sizes = (prefix: string): Promise<QueueSize[]> =>
		runner.ask((store, partition) => store.queueSizes(partition, prefix)).then((answer) => answer.queues);
	const found =
		queues <= FEW_QUEUES
			? await sizes(listQueuePrefix(namespace))
			: (await mapBounded(lanes, IN_FLIGHT, (lane) => sizes(listQueuePrefix(namespace, lane)))).flat();
	const depths = new Map<string, LaneView["depth"]>(lanes.map((lane) => [lane, {}]));
	for (const { queue, size } of found) {
		const { lane, state } = listQueueParts(namespace, queue);
		const depth = depths.get(lane);
		if (depth) depth[state] = size;
	}
	const copies = await readLanes(
		session,
		runner,
		lanes.map((lane) => laneKey(namespace, lane)),
	);
	return mapBounded([...depths], IN_FLIGHT, async ([lane, depth]): Promise<[string, LaneShare]> => {
		const oldestWaitingMs = depth.waiting ? await oldestWaiting(runner, namespace, lane) : undefined;
		return [lane, { depth, oldestWaitingMs, copy: copies.get(laneKey(namespace, lane)) ?? laneDefaults }];
	});
}

/** The list queue has the newest first, so the execution that was created longest ago is its last. */
async function oldestWaiting(runner: PartitionRunner, namespace: string, lane: string): Promise<number | undefined> {
	const { entries } = await runner.ask((store, partition) =>
		store.last(partition, listQueue(namespace, lane, "waiting"), 1),
	);
	const [oldest] = entries;
	return oldest && Math.max(0, runner.time.now() - createdAtOfListEntry(oldest));
}

function laneView(lane: string, shares: readonly LaneShare[], perMinute: number): LaneView {
	const depth: LaneView["depth"] = {};
	let oldest: number | undefined;
	// While a change is on its way to all partitions, the newest copy tells what the lane is to be.
	let copy = laneDefaults;
	for (const share of shares) {
		for (const [state, size] of Object.entries(share.depth) as [keyof LaneView["depth"], number][]) {
			depth[state] = (depth[state] ?? 0) + size;
		}
		if (share.oldestWaitingMs !== undefined) oldest = Math.max(oldest ?? 0, share.oldestWaitingMs);
		if (share.copy.revision > copy.revision) copy = share.copy;
	}
	return {
		lane,
		state: shownLaneState(copy.state),
		agingMs: copy.agingMs,
		depth,
		...(oldest === undefined ? undefined : { oldestWaitingMs: oldest }),
		perMinute,
	};
}
