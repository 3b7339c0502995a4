import { number, type Shapes, table } from "../shape.ts";
import type { Amounts } from "./budget.ts";
import { type GuardKind, type GuardName, guardPartSubject, guardSubject } from "./guard.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * What a budget or quota has given to one lease or grant: a slot, a place in the window, a reservation. It lives beside
 * the budget or quota, and goes when it is given back. What was given back before it was taken leaves a mark instead: a
 * reservation that comes late is refused.
 */
export interface HoldRecord {
	executionId: string;
	/** When it was admitted. */
	since: number;
	/** What is left of its reservation; null when it has none. */
	reserved: Amounts | null;
	/** Whether it began as a grant. */
	isGrant: boolean;
	/** When it was given back, as a mark; 0 while it is held. */
	givenBackAt: number;
}

export const holdDefaults: HoldRecord = {
	executionId: "",
	since: 0,
	reserved: null,
	isGrant: false,
	givenBackAt: 0,
};

export const holdShapes: Shapes<HoldRecord> = { reserved: table(number) };

export const HOLD_PREFIX = "hold:";

export const holdKey = ({ kind, namespace, id }: GuardName, holdId: string): Key<HoldRecord> =>
	`${HOLD_PREFIX}${guardSubject(namespace, id)},${kind},${holdId}`;

/** What a hold is on, and under which id. */
export function holdSubject(key: string): { guard: GuardName; holdId: string } {
	const { namespace, id, rest } = guardPartSubject(key.slice(HOLD_PREFIX.length));
	const comma = rest.indexOf(",");
	return { guard: { kind: rest.slice(0, comma) as GuardKind, namespace, id }, holdId: rest.slice(comma + 1) };
}

export const makeHold = (fields: Partial<HoldRecord>): HoldRecord => makeRecord(holdDefaults, fields);
