import { executionKey } from "../records/execution.ts";
import { amend, type Key } from "../records/record.ts";
import type { WaitpointRecord } from "../records/waitpoint.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/** Closes a waitpoint that nothing waits at when its time has come. */
export function tickWaitpoint(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const waitpoint = tx.get(key as Key<WaitpointRecord>);
	if (!waitpoint || waitpoint.closedAt > 0 || waitpoint.suspension > 0 || waitpoint.expiresAt === 0)
		return { ok: true };
	if (waitpoint.expiresAt > now) return { ok: true, early: waitpoint.expiresAt };
	// What its execution does at this moment must not be overlooked: it may be about to wait here.
	tx.get(executionKey(waitpoint.executionId));
	tx.put(key, amend(waitpoint, { closedAt: now, closedBy: "expiry" }));
	return { ok: true, duty: "pending_waitpoint_expiry" };
}
