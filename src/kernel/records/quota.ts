import { list, number, part, type Shapes, tuple } from "../shape.ts";
import { type GuardRecord, guardDefaults, guardSubject } from "./guard.ts";
import { type Key, makeRecord } from "./record.ts";

export interface Rate {
	max: number;
	windowMs: number;
}

/** Admissions at one moment. */
export type WindowEntry = readonly [at: number, count: number];

/** Admissions that were moved out of the quota's own record. */
export interface WindowChunk {
	number: number;
	firstAt: number;
	lastAt: number;
	count: number;
}

export interface QuotaRecord extends GuardRecord {
	rate: Rate | null;
	/** Slots there are; 0 for no limit. */
	concurrency: number;
	/** A suspended execution keeps its slot. */
	holdWhileSuspended: boolean;
	/** How much later than it could what waits for the window may be released. */
	jitterMs: number;
	/** Slots that are taken. */
	held: number;
	/** The latest admissions, oldest first; those before them are in chunks. */
	window: readonly WindowEntry[];
	chunks: readonly WindowChunk[];
	/** Number of the next chunk. */
	nextChunk: number;
}

export const quotaDefaults: QuotaRecord = {
	...guardDefaults,
	rate: null,
	concurrency: 0,
	holdWhileSuspended: false,
	jitterMs: 0,
	held: 0,
	window: Object.freeze([]) as readonly WindowEntry[],
	chunks: Object.freeze([]) as readonly WindowChunk[],
	nextChunk: 0,
};

const windowShape = list(tuple(number, number));

export const quotaShapes: Shapes<QuotaRecord> = {
	rate: part({ max: number, windowMs: number }),
	window: windowShape,
	chunks: list(part({ number, firstAt: number, lastAt: number, count: number })),
};

export const QUOTA_PREFIX = "quota:";

export const quotaKey = (namespace: string, id: string): Key<QuotaRecord> => QUOTA_PREFIX + guardSubject(namespace, id);

export const makeQuota = (fields: Partial<QuotaRecord>): QuotaRecord => makeRecord(quotaDefaults, fields);

export interface WindowChunkRecord {
	entries: readonly WindowEntry[];
}

export const windowChunkDefaults: WindowChunkRecord = { entries: quotaDefaults.window };

export const windowChunkShapes: Shapes<WindowChunkRecord> = { entries: windowShape };

export const WINDOW_PREFIX = "window:";

export const windowChunkKey = (namespace: string, id: string, number: number): Key<WindowChunkRecord> =>
	`${WINDOW_PREFIX}${guardSubject(namespace, id)},${number}`;
