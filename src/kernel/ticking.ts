import type { Outcome } from "./outcome.ts";
import type { Breach, BudgetRecord } from "./records/budget.ts";
import type { GuardName } from "./records/guard.ts";
import type { LaneHomeRecord } from "./records/lane.ts";
import type { OutboxRecord } from "./records/outbox.ts";
import type { Key } from "./records/record.ts";
import type { ScannerFilter } from "./scanner-filter.ts";
import type { Duty } from "./timers.ts";
import type { Tx } from "./tx.ts";

export interface TickCommand {
	op: "tick";
	key: string;
	/** Since when this partition could be written without a gap; leases get time to be renewed after an outage. */
	writableSince: number;
	/** A random number in 0..1 for a retry's backoff. */
	jitter: number;
	/** What the scanners that tick are restricted to; left out when they are not. */
	scannerFilter?: ScannerFilter;
}

/**
 * What was done; `again` says when to ask again about something that is held back although its time has come, `early` when
 * that time is if it has not, and `isOutside` that the record is for scanners with another filter.
 */
export type TickOutcome = Outcome<{
	duty?: Duty;
	again?: number;
	early?: number;
	errand?: Errand;
	isOutside?: boolean;
}>;

/** What a tick cannot do by itself, because it spans partitions. The record stays due until it is done. */
export type Errand =
	| { type: "spread_lane"; home: LaneHomeRecord }
	/** Tells a budget or quota what came by an outbox. */
	| { type: "send"; key: Key<OutboxRecord>; record: OutboxRecord }
	/** Releases what waits for a budget or quota, as much as there is room for. */
	| { type: "release"; guard: GuardName; releaseAt: number }
	/** Tells the holders of a budget that it refused a report. */
	| { type: "breach"; budget: BudgetRecord; breach: Breach };

/** What a type of record does when something on it is due. A tick that comes early, late or twice does no harm. */
export type Tick = (tx: Tx, command: TickCommand, now: number) => TickOutcome;

/** The tick of a record that only ever waits to go. */
export const expiring =
	<R extends object>(duty: Duty, expiresAt: (record: R) => number): Tick =>
	(tx, { key }, now) => {
		const record = tx.get(key as Key<R>);
		if (!record) return { ok: true };
		if (expiresAt(record) > now) return { ok: true, early: expiresAt(record) };
		tx.remove(key);
		return { ok: true, duty };
	};
