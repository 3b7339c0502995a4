import { createdAtOfListEntry, LIST, listQueueSubject } from "../kernel/placement.ts";
import type { PublicState } from "../kernel/state.ts";
import type { PartitionRunner } from "./partition-runner.ts";

export interface QueueDepth {
	namespace: string;
	lane: string;
	state: PublicState;
	size: number;
	/** Age of the oldest that waits, from its creation. */
	oldestMs?: number;
}

/** How many executions every lane holds, over all namespaces; at most so many lanes and states, the fullest first. */
export async function queueDepths(runners: readonly PartitionRunner[], most: number): Promise<QueueDepth[]> {
	const depths = new Map<string, QueueDepth>();
	const sizes = await Promise.all(
		runners.map((runner) => runner.ask((store, partition) => store.queueSizes(partition, LIST))),
	);
	for (const { queue, size } of sizes.flatMap(({ queues }) => queues)) {
		const known = depths.get(queue);
		if (known) known.size += size;
		else depths.set(queue, { ...listQueueSubject(queue), size });
	}
	const fullest = [...depths].sort(([, a], [, b]) => b.size - a.size).slice(0, most);
	await Promise.all(
		fullest.map(async ([queue, depth]) => {
			if (depth.state !== "waiting") return;
			const ages = await Promise.all(runners.map((runner) => oldestIn(runner, queue)));
			depth.oldestMs = Math.max(0, ...ages);
		}),
	);
	return fullest.map(([, depth]) => depth);
}

/** A list queue has the newest first. */
async function oldestIn(runner: PartitionRunner, queue: string): Promise<number> {
	const { entries } = await runner.ask((store, partition) => store.last(partition, queue, 1));
	const [oldest] = entries;
	return oldest ? runner.time.now() - createdAtOfListEntry(oldest) : 0;
}
