import type { BlockingCause } from "../../kernel/blocking.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import {
	BLOCKED,
	blockedQueueSubject,
	LANES,
	SUSPENDED,
	suspendedQueueSubject,
	WORKERS,
} from "../../kernel/placement.ts";
import type { LaneHomeRecord, LaneState } from "../../kernel/records/lane.ts";
import type { BlockingReason } from "../../kernel/state.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { someSizes } from "./queue-sizes.ts";

/** A lane that is not open. */
export interface ClosedLane {
	namespace: string;
	lane: string;
	state: LaneState;
}

/** Who and what is there just now beside the executions, whichever engine they came to. */
export interface Census {
	/** Worker instances in the registry, by namespace. */
	workers: ReadonlyMap<string, number>;
	/** Executions set aside, by cause; at least so many where thousands of things are waited for. */
	blocked: ReadonlyMap<BlockingCause, number>;
	/** Suspended executions, by what they wait for. */
	suspended: ReadonlyMap<BlockingReason, number>;
	closedLanes: readonly ClosedLane[];
}

export async function takeCensus(
	runners: readonly PartitionRunner[],
	kernel: Pick<Kernel, "decode">,
	mostLanes: number,
): Promise<Census> {
	const workers = new Map<string, number>();
	const closedLanes: ClosedLane[] = [];
	const blocked = new Map<BlockingCause, number>();
	const suspended = new Map<BlockingReason, number>();
	await Promise.all(
		runners.map(async (runner) => {
			const [registered, waiting, paused, lanes] = await Promise.all([
				someSizes(runner, WORKERS, (queue) => queue),
				someSizes(runner, BLOCKED, (queue) => {
					const { cause, namespace } = blockedQueueSubject(queue);
					return `${cause},${namespace}`;
				}),
				someSizes(runner, SUSPENDED, (queue) => suspendedQueueSubject(queue).namespace),
				closedIn(runner, kernel, mostLanes),
			]);
			for (const { queue, size } of registered) {
				const namespace = queue.slice(WORKERS.length);
				workers.set(namespace, (workers.get(namespace) ?? 0) + size);
			}
			for (const { queue, size } of waiting) {
				const { cause } = blockedQueueSubject(queue);
				blocked.set(cause, (blocked.get(cause) ?? 0) + size);
			}
			for (const { queue, size } of paused) {
				const { reason } = suspendedQueueSubject(queue);
				suspended.set(reason, (suspended.get(reason) ?? 0) + size);
			}
			for (const lane of lanes) closedLanes.push(lane);
		}),
	);
	return { workers, blocked, suspended, closedLanes: closedLanes.slice(0, mostLanes) };
}

/** Lanes with their home in this partition that are paused or draining. */
async function closedIn(runner: PartitionRunner, kernel: Pick<Kernel, "decode">, most: number): Promise<ClosedLane[]> {
	const { queues } = await runner.ask((store, partition) => store.queues(partition, LANES));
	const pages = await Promise.all(
		queues.slice(0, most).map((queue) => runner.ask((store, partition) => store.first(partition, queue, most))),
	);
	const keys = pages.flatMap(({ entries }) => entries.map(({ key }) => key)).slice(0, most);
	if (keys.length === 0) return [];
	const { records } = await runner.ask((store, partition) => store.read(partition, keys));
	return records.flatMap(({ key, version, doc }): ClosedLane[] => {
		if (version === 0) return [];
		try {
			const { namespace, lane, state } = kernel.decode(key, doc) as LaneHomeRecord;
			return state === "open" ? [] : [{ namespace, lane, state }];
		} catch {
			return [];
		}
	});
}
