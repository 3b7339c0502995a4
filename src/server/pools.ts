import { FlowFabricError } from "../contract/errors.ts";

/** How many calls of a kind may wait at the same time; one more is refused at once instead of queued. */
export const POOLS = {
	/** Claims that wait for work. */
	claims: 1024,
	/** Waits for the end of an execution, and event pages that wait. */
	waits: 1024,
	/** Event streams. */
	event_tails: 1024,
	/** Reads of streams, and pages of them that wait. */
	stream_ops: 64,
	/** Streams of frames as they come. */
	stream_tails: 1024,
	/** Notice streams of workers. */
	notice_tails: 1024,
	/** Bodies over 4 MiB being read, or answered. */
	large_bodies: 4,
	/** Backups being written. */
	backups: 2,
} as const;

/** Calls of a kind, of which only so many may wait at the same time. */
export type PoolName = keyof typeof POOLS;

/** One call's place in a pool. Given back a second time, nothing happens. */
export class Place {
	readonly #leave: () => void;
	/** Ends the call so that another may have its place; a call without it cannot be ended. */
	makeRoom?: () => void;

	constructor(leave: () => void) {
		this.#leave = leave;
	}

	give(): void {
		this.#leave();
	}
}

/**
 * Places for calls of a kind. Whoever is alone may have them all. As soon as others are there nobody gets more than half,
 * and when none is left, whoever has most makes room for those who have less: no tenant shuts out another.
 */
export class Pool {
	readonly name: PoolName;
	readonly max: number;
	readonly #places = new Map<string, Set<Place>>();
	#held = 0;

	constructor(name: PoolName, max: number) {
		this.name = name;
		this.max = max;
	}

	get held(): number {
		return this.#held;
	}

	/** A place for a call of this tenant. */
	take(tenant: string): Place {
		const own = this.#places.get(tenant)?.size ?? 0;
		if (own < this.#held && own >= this.max / 2) throw this.#refusal(`${own} of ${this.max} are yours`);
		if (this.#held >= this.max && !this.#makeRoom(own)) throw this.#refusal(`${this.max} are under way already`);
		const place: Place = new Place(() => this.#leave(tenant, place));
		const places = this.#places.get(tenant) ?? new Set();
		this.#places.set(tenant, places.add(place));
		this.#held += 1;
		return place;
	}

	/** Ends the youngest call of whoever has most, if that is more than the one who asks would then have. */
	#makeRoom(own: number): boolean {
		let most: Set<Place> | undefined;
		for (const places of this.#places.values()) if (places.size > (most?.size ?? own + 1)) most = places;
		const youngest = [...(most ?? [])].findLast(({ makeRoom }) => makeRoom !== undefined);
		if (!youngest) return false;
		youngest.give();
		youngest.makeRoom?.();
		return true;
	}

	#leave(tenant: string, place: Place): void {
		const places = this.#places.get(tenant);
		if (!places?.delete(place)) return;
		if (places.size === 0) this.#places.delete(tenant);
		this.#held -= 1;
	}

	#refusal(why: string): FlowFabricError {
		return new FlowFabricError("too_many_requests", {
			message: `${this.name}: ${why}`,
			details: { pool: this.name, max: this.max },
		});
	}
}

export type Pools = Readonly<Record<PoolName, Pool>>;

export function makePools(max: Partial<Record<PoolName, number>> = {}): Pools {
	const entries = Object.entries(POOLS).map(([name, usual]) => [
		name,
		new Pool(name as PoolName, max[name as PoolName] ?? usual),
	]);
	return Object.fromEntries(entries) as Pools;
}
