import { fnv1a } from "../claims/partition-scan.ts";
import type { LiveEngine } from "./presence.ts";

/** Said instead of lanes by an engine that is claimed from for more of them than are worth listing. */
export const EVERY_LANE = "*";

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

/**
 * Which partitions one engine comes first in. Engines share out timers among those with the same scanner filter, since
 * no other does the same; and the work of a lane among those that are claimed from for it: nobody's work waits for an
 * engine without workers.
 */
export class Preferences {
	readonly #self: string;
	readonly #partitions: number;
	readonly #lanes = new Map<string, ReadonlySet<number> | undefined>();
	#engines: readonly LiveEngine[];
	#told = "";
	timers: readonly number[];
	/** Where new work that may live anywhere is best made: where this engine's own workers come first, if it has any. */
	newWork: readonly number[];

	constructor(self: string, partitions: number) {
		this.#self = self;
		this.#partitions = partitions;
		this.#engines = [];
		this.timers = Array.from({ length: partitions }, (_, partition) => partition);
		this.newWork = this.timers;
	}

	/** How many engines are there. */
	get engines(): number {
		return Math.max(1, this.#engines.length);
	}

	/** Whether one of those who were there is not among these. */
	misses(engines: readonly LiveEngine[]): boolean {
		return this.#engines.some((known) => !engines.some(({ id }) => id === known.id));
	}

	/** Who is there now, this engine among them; true when that changes anything. */
	update(engines: readonly LiveEngine[]): boolean {
		const told = JSON.stringify(engines);
		if (told === this.#told) return false;
		this.#told = told;
		this.#engines = engines;
		this.#lanes.clear();
		const claimed = engines.filter(({ claims }) => claims.length > 0);
		const self = engines.find(({ id }) => id === this.#self);
		this.timers = this.#shareAmong(engines.filter(({ scannerFilter }) => scannerFilter === self?.scannerFilter));
		this.newWork = this.#shareAmong(claimed.some(({ id }) => id === this.#self) ? claimed : engines);
		return true;
	}

	/** Where claims of this engine come first for a lane; undefined when there are no others. */
	inLane(lane: string): ReadonlySet<number> | undefined {
		if (this.#engines.length < 2) return undefined;
		if (!this.#lanes.has(lane)) this.#lanes.set(lane, this.#shareOfLane(lane));
		return this.#lanes.get(lane);
	}

	#shareOfLane(lane: string): ReadonlySet<number> | undefined {
		const takers = this.#engines.filter(
			({ id, claims }) => id === this.#self || claims.includes(lane) || claims.includes(EVERY_LANE),
		);
		return takers.length > 1 ? new Set(this.#shareAmong(takers)) : undefined;
	}

	#shareAmong(engines: readonly LiveEngine[]): number[] {
		const owners = shareOut(
			engines.map(({ id }) => id),
			this.#partitions,
		);
		return [...owners.keys()].filter((partition) => owners[partition] === this.#self);
	}
}
