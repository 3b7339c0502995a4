import { defineDefaults, type Key, makeRecord } from "./record.ts";

export type LaneState = "open" | "paused" | "draining";

/** A partition's copy of a lane. Absent means open with default settings; a copy takes only higher revisions. */
export interface LaneRecord {
	state: LaneState;
	agingMs: number;
	revision: number;
}

export const laneDefaults = defineDefaults<LaneRecord>({ state: "open", agingMs: 1e12, revision: 0 });

export const laneKey = (namespace: string, lane: string): Key<LaneRecord> => `lane:${namespace}:${lane}`;

export const makeLane = (fields: Partial<LaneRecord>): LaneRecord => makeRecord(laneDefaults, fields);
