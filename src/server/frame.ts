import type { ServerLog } from "./log.ts";
import type { ServerMetrics } from "./metrics.ts";
import type { Pools } from "./pools.ts";
import type { Presence } from "./presence.ts";
import type { Tail } from "./sse.ts";

/** What all routes of one server share. */
export interface Frame {
	readonly log: ServerLog;
	readonly metrics: ServerMetrics;
	readonly pools: Pools;
	/** Calls that wait now, to be answered when the server closes. */
	readonly waiting: Set<Presence>;
	/** Event streams open now. */
	readonly tails: Set<Tail>;
	/** Calls not yet answered, tails not counted. */
	closing: boolean;
}
