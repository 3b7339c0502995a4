import type { ChunkGroup, FrameMode, FrameRate, ModeLog, StreamRecord } from "../records/stream.ts";
import type { Frame } from "./chunks.ts";

/**
 * How much of a stream is kept. Each mode is trimmed apart, so that none costs frames of another. Chunks go in groups, and a
 * group goes when all of it is too much; what of it is too much before is not shown.
 */

export const DEFAULT_MAX_FRAMES = 10_000;
/** Patches that are kept; the document they come to is kept anyway. */
const MOST_PATCHES = 128;
const FEWEST_BEST_EFFORT = 64;
const MOST_BEST_EFFORT = 16_384;

/** A group is closed at so many numbers, or at a sixteenth of what is kept. */
const NUMBERS_PER_GROUP = 256;
const FEWEST_PER_GROUP = 64;
/** Numbers that other modes alone have used cost a look each, so few of them are let into a group. */
const WIDEST_GAP = 4;
/** The record of a stream stays small, however many frames are kept: beyond this groups are joined. */
const MOST_GROUPS = 64;
/** Numbers whose chunks are removed in one step. */
const NUMBERS_PER_STEP = 256;

const FIELDS = { durable: "durable", summary: "summary", best_effort: "bestEffort" } as const;

export const logOf = (stream: StreamRecord, mode: FrameMode): ModeLog => stream[FIELDS[mode]];

export const withLog = (mode: FrameMode, log: ModeLog): Partial<StreamRecord> => ({ [FIELDS[mode]]: log });

/** The log with one more chunk. */
export function addChunk(log: ModeLog, chunk: ChunkGroup, most: number): ModeLog {
	const last = log.groups.at(-1);
	const isOpen =
		last &&
		chunk.from - last.to <= WIDEST_GAP &&
		chunk.from - last.from < NUMBERS_PER_GROUP &&
		last.frames < Math.max(FEWEST_PER_GROUP, most / 16);
	const groups = isOpen ? [...log.groups.slice(0, -1), joined(last, chunk)] : [...log.groups, chunk];
	return {
		total: log.total + chunk.frames,
		kept: log.kept + chunk.frames,
		groups: groups.length > MOST_GROUPS ? withNarrowestJoined(groups) : groups,
	};
}

function joined(a: ChunkGroup, b: ChunkGroup): ChunkGroup {
	return { from: a.from, to: b.to, frames: a.frames + b.frames, until: Math.max(a.until, b.until) };
}

/** The two neighbours that span the fewest numbers become one: groups stay alike, and gaps are bridged last. */
function withNarrowestJoined(groups: readonly ChunkGroup[]): ChunkGroup[] {
	let narrowest = 0;
	let width = Number.POSITIVE_INFINITY;
	// The last one is left open.
	for (let n = 0; n + 2 < groups.length; n++) {
		const span = (groups[n + 1] as ChunkGroup).to - (groups[n] as ChunkGroup).from;
		if (span >= width) continue;
		width = span;
		narrowest = n;
	}
	const one = joined(groups[narrowest] as ChunkGroup, groups[narrowest + 1] as ChunkGroup);
	return [...groups.slice(0, narrowest), one, ...groups.slice(narrowest + 2)];
}

/** Numbers whose chunks are to be removed. */
export interface Numbers {
	from: number;
	to: number;
}

/** What of the oldest group is no longer wanted, as much as goes in one step, and the log without. */
export function trim(log: ModeLog, most: number, now: number): { log: ModeLog; gone?: Numbers } {
	const [oldest] = log.groups;
	if (!oldest) return { log };
	const isOver = oldest.until > 0 && oldest.until <= now;
	return isOver || log.kept - oldest.frames >= most ? withoutOldest(log) : { log };
}

/** Takes away the oldest chunks, as many as go in one step. Frames count until the last of their group is gone. */
export function withoutOldest(log: ModeLog): { log: ModeLog; gone?: Numbers } {
	const [oldest, ...groups] = log.groups;
	if (!oldest) return { log };
	const to = Math.min(oldest.to, oldest.from + NUMBERS_PER_STEP - 1);
	const gone = { from: oldest.from, to };
	if (to < oldest.to) return { log: { ...log, groups: [{ ...oldest, from: to + 1 }, ...groups] }, gone };
	return { log: { total: log.total, kept: log.kept - oldest.frames, groups }, gone };
}

/** Frames of a mode that are kept. */
export function mostOf(mode: FrameMode, maxFrames: number, rate: FrameRate | null, ttlMs: number): number {
	if (mode === "durable") return maxFrames;
	if (mode === "summary") return MOST_PATCHES;
	const perSecond = rate ? Math.max(rate.perSecond, rate.count) : 0;
	return Math.min(MOST_BEST_EFFORT, Math.max(FEWEST_BEST_EFFORT, Math.ceil((perSecond * ttlMs) / 1000)));
}

/** Counts frames by the second. */
export function rateWith(rate: FrameRate | null, frames: number, now: number): FrameRate {
	if (!rate) return { since: now, count: frames, perSecond: 0 };
	const elapsed = now - rate.since;
	if (elapsed < 1000) return { ...rate, count: rate.count + frames };
	return { since: now, count: frames, perSecond: (rate.count * 1000) / elapsed };
}

/** Whether a reader is shown a frame that is still there: what is over its number or its time is not. */
export function isShown(frame: Frame, stream: StreamRecord, maxFrames: number, now: number): boolean {
	const isOver = frame.e !== undefined && frame.at + frame.e <= now;
	const most = frame.mode === "best_effort" ? MOST_BEST_EFFORT : mostOf(frame.mode, maxFrames, null, 0);
	return !isOver && frame.before >= logOf(stream, frame.mode).total - most;
}
