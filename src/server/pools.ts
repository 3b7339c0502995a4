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

export type PoolName = keyof typeof POOLS;

export class Pool {
	readonly name: PoolName;
	readonly max: number;
	#held = 0;

	constructor(name: PoolName, max: number) {
		this.name = name;
		this.max = max;
	}

	get held(): number {
		return this.#held;
	}

	take(): void {
		if (this.#held >= this.max) {
			throw new FlowFabricError("too_many_requests", {
				message: `${this.name}: ${this.max} are under way already`,
				details: { pool: this.name, max: this.max },
			});
		}
		this.#held += 1;
	}

	give(): void {
		this.#held -= 1;
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
