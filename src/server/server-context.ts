import type { ServerLines } from "./log.ts";
import type { ServerMetrics } from "./metrics.ts";
import type { PendingCall } from "./pending-call.ts";
import type { Pools } from "./pools.ts";
import type { Tail } from "./sse.ts";

/** What all routes of one server share. */
export interface ServerContext {
	readonly log: ServerLines;
	readonly metrics: ServerMetrics;
	readonly pools: Pools;
	/** Calls that wait now, to be answered when the server closes. */
	readonly waiting: Set<PendingCall>;
	/** Event streams open now. */
	readonly tails: Set<Tail>;
	/** Calls not yet answered, tails not counted. */
	closing: boolean;
}
