import type { ChunkGroup, FrameMode, FrameRate, ModeLog, StreamRecord } from "../records/stream.ts";
import type { Frame } from "./chunks.ts";

/** How much of a stream is kept. Each mode is trimmed apart, so that none costs frames of another. */

export const DEFAULT_MAX_FRAMES = 10_000;
/** Patches that are kept; the document they come to is kept anyway. */
const MOST_PATCHES = 1000;
const FEWEST_BEST_EFFORT = 64;
const MOST_BEST_EFFORT = 16_384;

/** What goes at once: so many chunks, or chunks of so many numbers, of which other modes may have the most. */
const CHUNKS_PER_GROUP = 64;
const NUMBERS_PER_GROUP = 256;

const FIELDS = { durable: "durable", summary: "summary", best_effort: "bestEffort" } as const;

export const logOf = (stream: StreamRecord, mode: FrameMode): ModeLog => stream[FIELDS[mode]];

export const withLog = (mode: FrameMode, log: ModeLog): Partial<StreamRecord> => ({ [FIELDS[mode]]: log });

/** The log with one more chunk. */
export function addChunk(log: ModeLog, chunk: number, frames: number, until: number): ModeLog {
	const last = log.groups.at(-1);
	const isOpen = last && last.chunks < CHUNKS_PER_GROUP && chunk - last.from < NUMBERS_PER_GROUP;
	const group: ChunkGroup = isOpen
		? {
				from: last.from,
				to: chunk,
				chunks: last.chunks + 1,
				frames: last.frames + frames,
				until: Math.max(last.until, until),
			}
		: { from: chunk, to: chunk, chunks: 1, frames, until };
	const groups = [...(isOpen ? log.groups.slice(0, -1) : log.groups), group];
	return { total: log.total + frames, kept: log.kept + frames, groups };
}

/** What is no longer wanted, whole groups of it, and the log without; one group at most goes in a step. */
export function trim(log: ModeLog, most: number, now: number): { log: ModeLog; gone?: ChunkGroup } {
	const [oldest, ...groups] = log.groups;
	if (!oldest || groups.length === 0) return { log };
	const isOver = oldest.until > 0 && oldest.until <= now;
	if (!isOver && log.kept - oldest.frames < most) return { log };
	return { log: { total: log.total, kept: log.kept - oldest.frames, groups }, gone: oldest };
}

/** Frames of a mode that are kept. */
export function mostOf(mode: FrameMode, maxFrames: number, rate: FrameRate | null, ttlMs: number): number {
	if (mode === "durable") return maxFrames;
	if (mode === "summary") return MOST_PATCHES;
	const wanted = Math.ceil(((rate?.perSecond ?? 0) * ttlMs) / 1000);
	return Math.min(MOST_BEST_EFFORT, Math.max(FEWEST_BEST_EFFORT, wanted));
}

/** Counts frames by the second. */
export function rateWith(rate: FrameRate | null, frames: number, now: number): FrameRate {
	if (!rate) return { since: now, count: frames, perSecond: 0 };
	const elapsed = now - rate.since;
	if (elapsed < 1000) return { ...rate, count: rate.count + frames };
	return { since: now, count: frames, perSecond: Math.round((rate.count * 1000) / elapsed) };
}

/** Whether a reader is shown a frame that is still there: what is over its number or its time is not. */
export function isShown(frame: Frame, stream: StreamRecord, maxFrames: number, now: number): boolean {
	if (frame.mode === "best_effort") return frame.e === undefined || frame.at + frame.e > now;
	const most = mostOf(frame.mode, maxFrames, null, 0);
	return frame.before >= logOf(stream, frame.mode).total - most;
}
