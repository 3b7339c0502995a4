import type { QueueSize } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Queues of a partition whose sizes are asked for; some stores are asked for each. */
const MOST_SIZED = 1000;
const IN_FLIGHT = 16;

/**
 * Sizes of the queues whose names begin so, over all namespaces, for figures. If one namespace has made thousands, only
 * some are looked at, as many of each namespace, and always the same.
 */
export async function someSizes(
	runner: PartitionRunner,
	prefix: string,
	namespaceOf: (queue: string) => string,
): Promise<QueueSize[]> {
	const { queues } = await runner.ask((store, partition) => store.queues(partition, prefix));
	if (queues.length <= MOST_SIZED) {
		return (await runner.ask((store, partition) => store.queueSizes(partition, prefix))).queues;
	}
	const some = await mapBounded(fairly(queues, namespaceOf), IN_FLIGHT, async (queue) => {
		const found = await runner.ask((store, partition) => store.queueSizes(partition, queue));
		// Another may begin like this one.
		return found.queues.filter((each) => each.queue === queue);
	});
	return some.flat();
}

/** One of each namespace after the other, until there are enough. */
function fairly(queues: readonly string[], namespaceOf: (queue: string) => string): string[] {
	const lines = new Map<string, string[]>();
	for (const queue of queues) {
		const namespace = namespaceOf(queue);
		const line = lines.get(namespace);
		if (line) line.push(queue);
		else lines.set(namespace, [queue]);
	}
	const chosen: string[] = [];
	for (let n = 0; chosen.length < MOST_SIZED; n++) {
		for (const line of lines.values()) {
			const queue = line[n];
			if (queue !== undefined && chosen.length < MOST_SIZED) chosen.push(queue);
		}
	}
	return chosen;
}
