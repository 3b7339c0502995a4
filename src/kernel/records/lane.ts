import { slotOf } from "../ids.ts";
import { type Key, makeRecord } from "./record.ts";

export type LaneState = "open" | "paused" | "draining";

/** A partition's copy of a lane. Absent means open with default settings; a copy takes only higher revisions. */
export interface LaneRecord {
	state: LaneState;
	agingMs: number;
	revision: number;
	/** When it took its state. */
	stateSince: number;
}

export const laneDefaults: LaneRecord = { state: "open", agingMs: 1e12, revision: 0, stateSince: 0 };

export const LANE_PREFIX = "lane:";

export const laneKey = (namespace: string, lane: string): Key<LaneRecord> => `${LANE_PREFIX}${namespace}:${lane}`;

export const makeLane = (fields: Partial<LaneRecord>): LaneRecord => makeRecord(laneDefaults, fields);

/** The one place where a lane is changed. It keeps trying until every partition has its copy. */
export interface LaneHomeRecord extends LaneRecord {
	namespace: string;
	lane: string;
	/** When to give the copies out again; 0 once all partitions have confirmed this revision. */
	spreadAt: number;
}

export const laneHomeDefaults: LaneHomeRecord = {
	...laneDefaults,
	namespace: "default",
	lane: "default",
	spreadAt: 0,
};

export const LANE_HOME_PREFIX = "lanehome:";

const laneSubject = (namespace: string, lane: string): string => `${namespace}:${lane}`;

export const laneHomeKey = (namespace: string, lane: string): Key<LaneHomeRecord> =>
	LANE_HOME_PREFIX + laneSubject(namespace, lane);

export const slotOfLane = (namespace: string, lane: string): number => slotOf(laneSubject(namespace, lane));

export const makeLaneHome = (fields: Partial<LaneHomeRecord>): LaneHomeRecord => makeRecord(laneHomeDefaults, fields);

/** Whether there is anything to say about a lane beyond the work in it. */
export const isSetApart = ({ state, agingMs }: LaneRecord): boolean =>
	state !== laneDefaults.state || agingMs !== laneDefaults.agingMs;
