import { list, number, part, type Shapes } from "../shape.ts";
import type { Json } from "../streams/merge-patch.ts";
import { decodeRecord, encodeRecord, type Key, makeRecord } from "./record.ts";

export const FRAME_MODES = ["durable", "summary", "best_effort"] as const;
export type FrameMode = (typeof FRAME_MODES)[number];

/** Some chunks of one mode that follow each other. */
export interface ChunkGroup {
	/** The numbers of the first and the last of them. In between there may be some that other modes alone have used. */
	from: number;
	to: number;
	/** How many frames there are in them. */
	frames: number;
	/** When the last of its frames is no longer shown; 0 for never. */
	until: number;
}

/** What is kept of one mode, oldest first. */
export interface ModeLog {
	/** Frames there ever were. */
	total: number;
	/** Frames that are kept. */
	kept: number;
	groups: readonly ChunkGroup[];
}

export const emptyLog: ModeLog = Object.freeze({ total: 0, kept: 0, groups: Object.freeze([]) });

/** How fast frames of a mode come, as far as that is known. */
export interface FrameRate {
	/** Since when those are counted that come now. */
	since: number;
	count: number;
	/** Frames a second before that. */
	perSecond: number;
}

/**
 * The stream of an attempt. What is appended together is a chunk, kept as bytes under its number, apart for each mode; this
 * tells which there are.
 */
export interface StreamRecord {
	/** The number of the next chunk. */
	next: number;
	/** The id of the last frame; empty before the first. */
	lastId: string;
	durable: ModeLog;
	summary: ModeLog;
	bestEffort: ModeLog;
	rate: FrameRate | null;
	/** The last sequence number of a client, and the lease it belongs to. */
	seq: number;
	epoch: number;
}

export const streamDefaults: StreamRecord = {
	next: 0,
	lastId: "",
	durable: emptyLog,
	summary: emptyLog,
	bestEffort: emptyLog,
	rate: null,
	seq: 0,
	epoch: 0,
};

const logShape = part({
	total: number,
	kept: number,
	groups: list(part({ from: number, to: number, frames: number, until: number })),
});

export const streamShapes: Shapes<StreamRecord> = {
	durable: logShape,
	summary: logShape,
	bestEffort: logShape,
	rate: part({ since: number, count: number, perSecond: number }),
};

export const streamKey = (executionId: string, attempt: number): Key<StreamRecord> => `${executionId}/h${attempt}`;

export const makeStream = (fields: Partial<StreamRecord>): StreamRecord => makeRecord(streamDefaults, fields);

/** A log as a document has it: its groups as one list of numbers, since they are written anew with every append. */
interface StoredLog extends Omit<ModeLog, "groups"> {
	groups: readonly number[];
}

const NUMBERS_PER_GROUP = 4;

export function encodeStream(record: StreamRecord): string {
	const { durable, summary, bestEffort } = record;
	return encodeRecord<object>(streamDefaults, {
		...record,
		durable: storedLog(durable),
		summary: storedLog(summary),
		bestEffort: storedLog(bestEffort),
	});
}

export function decodeStream(_key: string, doc: string): StreamRecord {
	const stored = decodeRecord<object>(streamDefaults, doc) as Record<"durable" | "summary" | "bestEffort", StoredLog>;
	return {
		...(stored as object as StreamRecord),
		durable: logFrom(stored.durable),
		summary: logFrom(stored.summary),
		bestEffort: logFrom(stored.bestEffort),
	};
}

/** One that is empty stays what it is: a document has no trace of it. */
function storedLog(log: ModeLog): ModeLog | StoredLog {
	if (log === emptyLog) return log;
	const groups: number[] = [];
	for (const { from, to, frames, until } of log.groups) groups.push(from, to, frames, until);
	return { ...log, groups };
}

function logFrom(stored: ModeLog | StoredLog): ModeLog {
	if (stored === emptyLog) return emptyLog;
	const { groups: numbers, ...log } = (stored ?? {}) as StoredLog;
	// What is no log is left to whoever looks the record over, which then names the field.
	if (!Array.isArray(numbers)) return (typeof stored === "object" ? null : stored) as never;
	const groups: ChunkGroup[] = [];
	for (let n = 0; n < numbers.length; n += NUMBERS_PER_GROUP) {
		const [from = 0, to = 0, frames = 0, until = 0] = numbers.slice(n, n + NUMBERS_PER_GROUP);
		groups.push({ from, to, frames, until });
	}
	return { ...log, groups };
}

const MODE_LETTERS: Record<FrameMode, string> = { durable: "", summary: "s", best_effort: "b" };

/** Where the bytes of a chunk are kept. */
export const chunkKey = (executionId: string, attempt: number, chunk: number, mode: FrameMode): string =>
	`${executionId}/f${attempt}.${chunk}${MODE_LETTERS[mode]}`;

/** The document that the summary frames of an attempt come to. */
export interface SummaryRecord {
	/** Alone in a list, since it may be anything; empty before the first patch. */
	documents: readonly Json[];
	version: number;
	updatedAt: number;
}

export const summaryDefaults: SummaryRecord = { documents: Object.freeze([]), version: 0, updatedAt: 0 };

export const summaryKey = (executionId: string, attempt: number): Key<SummaryRecord> => `${executionId}/y${attempt}`;
