import type { LaneCalls } from "../../contract/backend.ts";
import { type LaneSettings, type LanesRequest, laneSettings, laneShape, lanesRequest } from "../../contract/lanes.ts";
import type { LaneStatus, LaneView } from "../../contract/replies.ts";
import {
	createdAtOfListEntry,
	lanesQueue,
	listQueue,
	listQueueParts,
	listQueuePrefix,
} from "../../kernel/placement.ts";
import { shownLaneState } from "../../kernel/reading.ts";
import { type LaneRecord, type LaneState, laneDefaults, laneHomeKey, laneKey } from "../../kernel/records/lane.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { readLanes } from "../reading/showing.ts";
import type { Session } from "./session.ts";

/** What one partition knows of a lane. */
interface LaneShare {
	depth: LaneView["depth"];
	oldestWaitingMs: number | undefined;
	copy: LaneRecord;
}

/** The lanes of a namespace, from what each partition has queued for them. */
export class LocalLanes implements LaneCalls {
	readonly #session: Session;

	constructor(session: Session) {
		this.#session = session;
	}

	async list(request: LanesRequest = {}): Promise<{ lanes: LaneView[] }> {
		const namespace = this.#session.namespaceFor(lanesRequest.check(request).namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const found = await Promise.all(engine.runners.map((runner) => this.#sharesOf(runner, namespace)));
		const byLane = new Map<string, LaneShare[]>();
		for (const [lane, share] of found.flatMap((shares) => [...shares])) {
			byLane.set(lane, [...(byLane.get(lane) ?? []), share]);
		}
		const lanes = [...byLane].map(([lane, shares]) =>
			laneView(lane, shares, engine.throughput.perMinute(namespace, lane, engine.now())),
		);
		return { lanes: lanes.sort((a, b) => (a.lane < b.lane ? -1 : 1)) };
	}

	async pause(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "paused" });
	}

	async resume(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "open" });
	}

	async drain(lane: string, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, { state: "draining" });
	}

	async update(lane: string, settings: LaneSettings, request: LanesRequest = {}): Promise<LaneStatus> {
		return this.#change(lane, request, laneSettings.check(settings));
	}

	async #change(
		lane: string,
		request: LanesRequest,
		change: { state?: LaneState; agingMs?: number },
	): Promise<LaneStatus> {
		laneShape.check({ lane });
		const namespace = this.#session.namespaceFor(lanesRequest.check(request).namespace);
		const { engine } = this.#session;
		engine.refuseIfClosed();
		const { state, agingMs } = await engine.lanes.change(namespace, lane, change);
		await engine.pausedLanes.settled();
		return { lane, namespace, state: shownLaneState(state), agingMs };
	}

	async #sharesOf(runner: PartitionRunner, namespace: string): Promise<Map<string, LaneShare>> {
		const { queues } = await runner.ask((store, partition) => store.queueSizes(partition, listQueuePrefix(namespace)));
		const depths = new Map<string, LaneView["depth"]>();
		for (const { queue, size } of queues) {
			const { lane, state } = listQueueParts(namespace, queue);
			depths.set(lane, { ...depths.get(lane), [state]: size });
		}
		for (const lane of await setApart(runner, namespace)) if (!depths.has(lane)) depths.set(lane, {});
		const lanes = [...depths];
		const keys = lanes.map(([lane]) => laneKey(namespace, lane));
		const copies = await readLanes(this.#session, runner, keys);
		const shares = lanes.map(async ([lane, depth]): Promise<[string, LaneShare]> => {
			const oldestWaitingMs = depth.waiting ? await oldestWaiting(runner, namespace, lane) : undefined;
			return [lane, { depth, oldestWaitingMs, copy: copies.get(laneKey(namespace, lane)) ?? laneDefaults }];
		});
		return new Map(await Promise.all(shares));
	}
}

const PAGE = 1000;

/** Lanes with their home in this partition that are not as a lane nobody has touched; each key ends in its name. */
async function setApart(runner: PartitionRunner, namespace: string): Promise<string[]> {
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
