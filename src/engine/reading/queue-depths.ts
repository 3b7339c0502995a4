import { createdAtOfListEntry, LIST, listQueuePrefix, listQueueSubject } from "../../kernel/placement.ts";
import { ENDED_STATES, type PublicState } from "../../kernel/state.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { someSizes } from "./queue-sizes.ts";

export interface QueueDepth {
	namespace: string;
	lane: string;
	state: PublicState;
	size: number;
	/** Age of the oldest, from its creation; left out for what has ended. */
	oldestMs?: number;
}

const PARTITIONS_AT_ONCE = 8;
const LANES_AT_ONCE = 16;

/** How many executions the lanes of a namespace, or of all, hold; at most so many lanes and states, the fullest first. */
export async function queueDepths(
	runners: readonly PartitionRunner[],
	most: number,
	namespace: string | undefined,
): Promise<QueueDepth[]> {
	const prefix = namespace === undefined ? LIST : listQueuePrefix(namespace);
	const depths = new Map<string, QueueDepth & { holders: PartitionRunner[] }>();
	const sizes = await mapBounded(runners, PARTITIONS_AT_ONCE, (runner) =>
		someSizes(runner, prefix, (queue) => listQueueSubject(queue).namespace),
	);
	sizes.forEach((queues, partition) => {
		const runner = runners[partition] as PartitionRunner;
		for (const { queue, size } of queues) {
			const known = depths.get(queue);
			if (!known) depths.set(queue, { ...listQueueSubject(queue), size, holders: [runner] });
			else {
				known.size += size;
				known.holders.push(runner);
			}
		}
	});
	const fullest = [...depths].sort(([, a], [, b]) => b.size - a.size).slice(0, most);
	return mapBounded(fullest, LANES_AT_ONCE, async ([queue, { holders, ...depth }]) => {
		if (ENDED_STATES.has(depth.state)) return depth;
		const ages = await Promise.all(holders.map((runner) => oldestIn(runner, queue)));
		return { ...depth, oldestMs: ages.reduce((oldest, age) => Math.max(oldest, age), 0) };
	});
}

/** A list queue has the newest first. */
async function oldestIn(runner: PartitionRunner, queue: string): Promise<number> {
	const { entries } = await runner.ask((store, partition) => store.last(partition, queue, 1));
	const [oldest] = entries;
	return oldest ? runner.time.now() - createdAtOfListEntry(oldest) : 0;
}
