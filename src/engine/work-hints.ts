import { ELIGIBLE, eligibleQueue, eligibleQueuePrefix } from "../kernel/placement.ts";

/** What a claim is for, as far as the names of queues tell. */
export interface Wanted {
	namespace: string;
	lanes: readonly string[];
	kinds: readonly string[] | undefined;
}

/**
 * Where there is work: a queue is *hot* once a commit, a notice or a look said that it is not empty, until a look finds
 * it empty. Whoever looks takes the queue's `stamp` first: if it was said to have work meanwhile, what the look found is
 * older than that, and the queue stays hot.
 */
export class WorkHints {
	/** Lane prefix → partition → hot queues. */
	readonly #hot = new Map<string, Map<number, Set<string>>>();
	/** The same queues per partition with their stamps, to tell quickly whether one is hot. */
	readonly #stamps: readonly Map<string, number>[];
	#stamp = 0;

	constructor(partitions: number) {
		this.#stamps = Array.from({ length: partitions }, () => new Map());
	}

	isHot(partition: number, queue: string): boolean {
		return this.#stamps[partition]?.has(queue) === true;
	}

	stampOf(partition: number, queue: string): number | undefined {
		return this.#stamps[partition]?.get(queue);
	}

	heat(partition: number, queue: string): void {
		const stamps = this.#stamps[partition];
		if (!stamps) return;
		const known = stamps.has(queue);
		stamps.set(queue, ++this.#stamp);
		if (known) return;
		const prefix = lanePrefixOf(queue);
		let partitions = this.#hot.get(prefix);
		if (!partitions) this.#hot.set(prefix, (partitions = new Map()));
		const queues = partitions.get(partition);
		if (queues) queues.add(queue);
		else partitions.set(partition, new Set([queue]));
	}

	/** Nothing was found in it by a look that began at this stamp. */
	cool(partition: number, queue: string, stamp = this.stampOf(partition, queue)): void {
		const stamps = this.#stamps[partition];
		if (stamps?.get(queue) !== stamp) return;
		stamps?.delete(queue);
		const prefix = lanePrefixOf(queue);
		const partitions = this.#hot.get(prefix);
		const queues = partitions?.get(partition);
		queues?.delete(queue);
		if (queues?.size === 0) partitions?.delete(partition);
		if (partitions?.size === 0) this.#hot.delete(prefix);
	}

	/** Partitions with hot queues of a lane. */
	partitions(namespace: string, lane: string): number[] {
		return [...(this.#hot.get(eligibleQueuePrefix(namespace, lane))?.keys() ?? [])];
	}

	/** Hot queues of a lane in one partition. */
	queues(namespace: string, lane: string, partition: number): readonly string[] {
		return [...(this.#hot.get(eligibleQueuePrefix(namespace, lane))?.get(partition) ?? [])];
	}

	/** Whether there is work for a claim, as far as is known. */
	has(wanted: Wanted): boolean {
		return wanted.lanes.some((lane) => {
			for (const queues of this.#hot.get(eligibleQueuePrefix(wanted.namespace, lane))?.values() ?? []) {
				for (const queue of queues) if (acceptsKind(wanted, lane, queue)) return true;
			}
			return false;
		});
	}
}

export function accepts(wanted: Wanted, queue: string): boolean {
	const prefix = lanePrefixOf(queue);
	return wanted.lanes.some(
		(lane) => eligibleQueuePrefix(wanted.namespace, lane) === prefix && acceptsKind(wanted, lane, queue),
	);
}

export function acceptsKind(wanted: Wanted, lane: string, queue: string): boolean {
	return !wanted.kinds || wanted.kinds.some((kind) => eligibleQueue(wanted.namespace, lane, kind) === queue);
}

/** A lane's name across namespaces. */
export const laneName = (namespace: string, lane: string): string => `${namespace},${lane}`;

export const laneNameOf = (queue: string): string => lanePrefixOf(queue).slice(ELIGIBLE.length, -1);

/** The part of a queue's name that all kinds of its lane share. */
const lanePrefixOf = (queue: string): string =>
	queue.slice(0, queue.indexOf(",", queue.indexOf(",", ELIGIBLE.length) + 1) + 1);
