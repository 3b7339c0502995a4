import type { Outcome } from "../outcome.ts";
import {
	type LaneHomeRecord,
	type LaneState,
	laneDefaults,
	laneHomeKey,
	laneKey,
	makeLane,
	makeLaneHome,
} from "../records/lane.ts";
import { amend, type Key } from "../records/record.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/**
 * A lane is changed in three steps, each of which may be repeated: its home takes the change and a new revision, every
 * partition takes a copy, the home hears that all have. Until then the home is due again and again, so that whoever
 * began need not live to finish.
 */

interface LaneName {
	namespace: string;
	lane: string;
}

export interface ChangeLaneCommand extends LaneName {
	op: "changeLane";
	state?: LaneState;
	agingMs?: number;
}

export type ChangeLaneOutcome = Outcome<{ home: LaneHomeRecord }>;

/** How long a change may take to reach every partition before it is sent again. */
const SPREAD_AGAIN_MS = 1000;

export function changeLane(tx: Tx, command: ChangeLaneCommand, now: number): ChangeLaneOutcome {
	const { namespace, lane } = command;
	const key = laneHomeKey(namespace, lane);
	const known = tx.get(key) ?? makeLaneHome({ namespace, lane });
	const { state = known.state, agingMs = known.agingMs } = command;
	if (state === known.state && agingMs === known.agingMs) return { ok: true, home: known };
	const home = amend(known, {
		state,
		agingMs,
		revision: known.revision + 1,
		stateSince: state === known.state ? known.stateSince : now,
		spreadAt: now + SPREAD_AGAIN_MS,
	});
	tx.put(key, home);
	return { ok: true, home };
}

export interface CopyLaneCommand extends LaneName {
	op: "copyLane";
	state: LaneState;
	agingMs: number;
	revision: number;
	stateSince: number;
}

export type CopyLaneOutcome = Outcome<{ revision: number }>;

export function copyLane(tx: Tx, command: CopyLaneCommand): CopyLaneOutcome {
	const { op: _, namespace, lane, ...fields } = command;
	const key = laneKey(namespace, lane);
	const known = tx.get(key);
	const { revision } = known ?? laneDefaults;
	if (revision >= fields.revision) return { ok: true, revision };
	tx.put(key, known ? amend(known, fields) : makeLane(fields));
	return { ok: true, revision: fields.revision };
}

export interface ConfirmLaneCommand extends LaneName {
	op: "confirmLane";
	revision: number;
}

export type ConfirmLaneOutcome = Outcome<{ confirmed: boolean }>;

/** Every partition has this revision; if the lane was changed meanwhile, that change is still to be confirmed. */
export function confirmLane(tx: Tx, { namespace, lane, revision }: ConfirmLaneCommand): ConfirmLaneOutcome {
	const key = laneHomeKey(namespace, lane);
	const home = tx.get(key);
	if (!home || home.revision !== revision) return { ok: true, confirmed: false };
	if (home.spreadAt > 0) tx.put(key, amend(home, { spreadAt: 0 }));
	return { ok: true, confirmed: true };
}

/** Until all partitions have confirmed, the home asks again and again for its copies to be given out. */
export function tickLaneHome(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const home = tx.get(key as Key<LaneHomeRecord>);
	if (!home || home.spreadAt === 0) return { ok: true };
	if (home.spreadAt > now) return { ok: true, early: home.spreadAt };
	tx.put(key, amend(home, { spreadAt: now + SPREAD_AGAIN_MS }));
	return { ok: true, duty: "lane_copies", errand: { type: "spread_lane", home } };
}
