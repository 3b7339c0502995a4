import type { QueuePosition } from "../../store/port.ts";
import { mapBounded } from "../bounded.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Queues of one partition read at the same time. */
const IN_FLIGHT = 32;
/** So few queues are read once, each as far as it can matter. */
const FEW = 16;
/** How many times as much is read of what was not enough. */
const GROWTH = 4;

/**
 * The first entries of many queues as if they were one. A namespace of ten thousand lanes has tens of thousands of them:
 * of each a little is read, and more only where that may be among the first of all.
 */
export async function firstOfAll(
	runner: PartitionRunner,
	queues: readonly string[],
	count: number,
	after: QueuePosition | undefined,
): Promise<QueuePosition[]> {
	let best: QueuePosition[] = [];
	let open = queues.map((queue) => ({ queue, after }));
	let step = queues.length <= FEW ? count : Math.min(count, Math.ceil((2 * count) / queues.length));
	while (open.length > 0) {
		const asked = step;
		const pages = await mapBounded(open, IN_FLIGHT, (line) =>
			runner.ask((store, at) => store.first(at, line.queue, asked, line.after)),
		);
		best = [...best, ...pages.flatMap(({ entries }) => entries)].sort(compare).slice(0, count);
		const worst = best.length < count ? undefined : best.at(-1);
		open = open.flatMap(({ queue }, n) => {
			const entries = pages[n]?.entries ?? [];
			const last = entries.at(-1);
			const mayHaveMore = last && entries.length === asked && (!worst || compare(last, worst) < 0);
			return mayHaveMore ? [{ queue, after: last }] : [];
		});
		step = Math.min(count, step * GROWTH);
	}
	return best;
}

export const compare = (a: QueuePosition, b: QueuePosition): number =>
	a.score - b.score || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
