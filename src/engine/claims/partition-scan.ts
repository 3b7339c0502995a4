/** How many partitions a claim probes at most. */
export const MAX_PARTITIONS_PER_SCAN = 32;
/** How often the start of all scans moves on, at most. */
export const ROTATION_WINDOW_MS = 250;

/**
 * Which partitions a claim probes when there are more than it may: those behind a start that differs per worker instance,
 * so that workers do not all come to the same, plus a cursor for all of them that moves on with time. The windows of one
 * instance follow each other without a gap, so whatever stays where it is comes into them.
 */
export class PartitionScan {
	readonly #partitions: number;
	#cursor: number;
	#movedAt = Number.NEGATIVE_INFINITY;

	constructor(partitions: number, cursor = 0) {
		this.#partitions = partitions;
		this.#cursor = cursor;
	}

	/** A claim is made or woken at this monotonic time; true when that moved the start on. */
	turn(now: number): boolean {
		if (now - this.#movedAt < ROTATION_WINDOW_MS) return false;
		this.#movedAt = now;
		this.#cursor = (this.#cursor + MAX_PARTITIONS_PER_SCAN) % this.#partitions;
		return true;
	}

	/** All partitions this instance may probe now. */
	window(instanceId: string): number[] {
		const start = this.#startOf(instanceId);
		const length = Math.min(this.#partitions, MAX_PARTITIONS_PER_SCAN);
		return Array.from({ length }, (_, n) => (start + n) % this.#partitions);
	}

	/** Of these partitions as many as may be probed, the nearest behind the instance's start first. */
	nearest(instanceId: string, partitions: readonly number[]): readonly number[] {
		if (partitions.length <= MAX_PARTITIONS_PER_SCAN) return partitions;
		const start = this.#startOf(instanceId);
		const distance = (partition: number) => (partition - start + this.#partitions) % this.#partitions;
		return [...partitions].sort((a, b) => distance(a) - distance(b)).slice(0, MAX_PARTITIONS_PER_SCAN);
	}

	#startOf(instanceId: string): number {
		return (fnv1a(instanceId) + this.#cursor) % this.#partitions;
	}
}

/** FNV-1a, 32 bits. */
export function fnv1a(text: string): number {
	let hash = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
	return hash;
}
