import type { LaneCalls } from "../../contract/backend.ts";
import { type LanesRequest, lanesRequest } from "../../contract/lanes.ts";
import type { LaneView } from "../../contract/replies.ts";
import { createdAtOfListEntry, listQueue, listQueueParts, listQueuePrefix } from "../../kernel/placement.ts";
import { type LaneRecord, laneDefaults, laneKey } from "../../kernel/records/lane.ts";
import type { PartitionRunner } from "../partition-runner.ts";
import type { Desk } from "./desk.ts";

/** What one partition knows of a lane. */
interface LaneShare {
	depth: LaneView["depth"];
	oldestWaitingMs: number | undefined;
	copy: LaneRecord;
}

/** The lanes of a namespace, from what each partition has queued for them. */
export class LocalLanes implements LaneCalls {
	readonly #desk: Desk;

	constructor(desk: Desk) {
		this.#desk = desk;
	}

	async list(request: LanesRequest = {}): Promise<{ lanes: LaneView[] }> {
		const namespace = this.#desk.namespaceFor(lanesRequest.check(request).namespace);
		const { engine } = this.#desk;
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

	async #sharesOf(runner: PartitionRunner, namespace: string): Promise<Map<string, LaneShare>> {
		const { queues } = await runner.ask((store, partition) => store.queueSizes(partition, listQueuePrefix(namespace)));
		const depths = new Map<string, LaneView["depth"]>();
		for (const { queue, size } of queues) {
			const { lane, state } = listQueueParts(namespace, queue);
			depths.set(lane, { ...depths.get(lane), [state]: size });
		}
		const lanes = [...depths];
		const copies = await this.#copies(
			runner,
			lanes.map(([lane]) => laneKey(namespace, lane)),
		);
		const shares = lanes.map(async ([lane, depth], n): Promise<[string, LaneShare]> => {
			const oldestWaitingMs = depth.waiting ? await oldestWaiting(runner, namespace, lane) : undefined;
			return [lane, { depth, oldestWaitingMs, copy: copies[n] ?? laneDefaults }];
		});
		return new Map(await Promise.all(shares));
	}

	async #copies(runner: PartitionRunner, keys: string[]): Promise<LaneRecord[]> {
		if (keys.length === 0) return [];
		const { records } = await runner.ask((store, partition) => store.read(partition, keys));
		return records.map((stored) => (stored.version > 0 ? this.#desk.decode<LaneRecord>(stored) : laneDefaults));
	}
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
		state: copy.state === "open" ? "active" : copy.state,
		agingMs: copy.agingMs,
		depth,
		...(oldest === undefined ? undefined : { oldestWaitingMs: oldest }),
		perMinute,
	};
}
