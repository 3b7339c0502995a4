import type { BlockingCause } from "../../kernel/blocking.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import {
	BLOCKED,
	blockedQueueSubject,
	LANES,
	lanesQueue,
	SUSPENDED,
	suspendedQueueSubject,
	WORKERS,
	workersQueue,
} from "../../kernel/placement.ts";
import type { LaneHomeRecord, LaneState } from "../../kernel/records/lane.ts";
import type { BlockingReason } from "../../kernel/state.ts";
import { isWithin } from "../../kernel/target.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { someSizes } from "./queue-sizes.ts";

/** A lane that is not open. */
export interface ClosedLane {
	namespace: string;
	lane: string;
	state: LaneState;
}

/** Executions that go nowhere just now, whichever engine they came to. */
export interface HeldUp {
	/** Those set aside, by cause; at least so many where thousands of things are waited for. */
	blocked: ReadonlyMap<BlockingCause, number>;
	/** Those suspended, by what they wait for. */
	suspended: ReadonlyMap<BlockingReason, number>;
}

export async function countHeldUp(runners: readonly PartitionRunner[]): Promise<HeldUp> {
	const blocked = new Map<BlockingCause, number>();
	const suspended = new Map<BlockingReason, number>();
	await Promise.all(
		runners.map(async (runner) => {
			const [waiting, paused] = await Promise.all([
				someSizes(runner, BLOCKED, (queue) => {
					const { cause, namespace } = blockedQueueSubject(queue);
					return `${cause},${namespace}`;
				}),
				someSizes(runner, SUSPENDED, (queue) => suspendedQueueSubject(queue).namespace),
			]);
			for (const { queue, size } of waiting) {
				const { cause } = blockedQueueSubject(queue);
				blocked.set(cause, (blocked.get(cause) ?? 0) + size);
			}
			for (const { queue, size } of paused) {
				const { reason } = suspendedQueueSubject(queue);
				suspended.set(reason, (suspended.get(reason) ?? 0) + size);
			}
		}),
	);
	return { blocked, suspended };
}

/** Worker instances in the registry, by namespace; of one namespace, or of all. */
export async function countWorkers(
	runners: readonly PartitionRunner[],
	namespace: string | undefined,
): Promise<Map<string, number>> {
	const counts = new Map<string, number>();
	const prefix = namespace === undefined ? WORKERS : workersQueue(namespace);
	const sizes = await Promise.all(runners.map((runner) => someSizes(runner, prefix, (queue) => queue)));
	for (const { queue, size } of sizes.flat()) {
		const found = queue.slice(WORKERS.length);
		if (isWithin(found, namespace)) counts.set(found, (counts.get(found) ?? 0) + size);
	}
	return counts;
}

/** Lanes that are paused or draining, of one namespace or of all; at most so many. */
export async function findClosedLanes(
	runners: readonly PartitionRunner[],
	kernel: Pick<Kernel, "decode">,
	most: number,
	namespace: string | undefined,
): Promise<ClosedLane[]> {
	const found = await Promise.all(runners.map((runner) => closedIn(runner, kernel, most, namespace)));
	return found.flat().slice(0, most);
}

/** Those with their home in this partition. */
async function closedIn(
	runner: PartitionRunner,
	kernel: Pick<Kernel, "decode">,
	most: number,
	namespace: string | undefined,
): Promise<ClosedLane[]> {
	const queues =
		namespace === undefined
			? (await runner.ask((store, partition) => store.queues(partition, LANES))).queues
			: [lanesQueue(namespace)];
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
