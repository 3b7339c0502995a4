import { fnv1a } from "./partition-scan.ts";

/**
 * Shares partitions out among engines: rendezvous hashing, so that every engine comes to the same result from the same
 * list and few partitions change hands when one comes or goes; and nobody gets more than its part, since with few
 * partitions chance alone would give one engine most of them. Returns the engine of each partition.
 */
export function shareOut(engines: readonly string[], partitions: number): string[] {
	const owners: string[] = new Array(partitions).fill("");
	const room = new Map(engines.map((engine) => [engine, Math.ceil(partitions / engines.length)]));
	const bids = engines.flatMap((engine) =>
		Array.from({ length: partitions }, (_, partition) => ({ engine, partition, weight: weigh(engine, partition) })),
	);
	bids.sort((a, b) => b.weight - a.weight || a.partition - b.partition || (a.engine < b.engine ? -1 : 1));
	for (const { engine, partition } of bids) {
		const left = room.get(engine) ?? 0;
		if (owners[partition] !== "" || left === 0) continue;
		owners[partition] = engine;
		room.set(engine, left - 1);
	}
	return owners;
}

/** Names that differ in one character must not weigh alike, so the hash is stirred once more. */
function weigh(engine: string, partition: number): number {
	let hash = fnv1a(`${engine} ${partition}`);
	hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
	hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
	return (hash ^ (hash >>> 16)) >>> 0;
}
