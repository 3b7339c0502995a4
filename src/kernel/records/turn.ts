import type { GuardName } from "./guard.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * How far the turns of one fairness key have been given out, in one partition, to what waits for one budget or quota. Each
 * takes the turn behind the last of its key, so those of a key that has little stand between those of a key that has much.
 */
export interface TurnRecord {
	namespace: string;
	last: number;
}

export const turnDefaults: TurnRecord = { namespace: "default", last: 0 };

export const TURN_PREFIX = "turn:";

export const turnKey = ({ kind, namespace, id }: GuardName, fairnessKey: string): Key<TurnRecord> =>
	`${TURN_PREFIX}${kind},${namespace},${id},${fairnessKey}`;

export const makeTurn = (fields: Partial<TurnRecord>): TurnRecord => makeRecord(turnDefaults, fields);

/** Turns that lie behind by this much tell nothing that the clock does not. */
const KEPT_MS = 60_000;

export const turnForgottenAt = ({ last }: TurnRecord): number => last + KEPT_MS;
