import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { amendExecution, type ExecutionRecord, executionKey, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import {
	chunkKey,
	FRAME_MODES,
	type FrameMode,
	type ModeLog,
	makeStream,
	type StreamRecord,
	type SummaryRecord,
	streamKey,
	summaryDefaults,
	summaryKey,
} from "../records/stream.ts";
import { encodeChunk, frameId, type PlacedFrame } from "../streams/chunks.ts";
import { addChunk, DEFAULT_MAX_FRAMES, logOf, mostOf, rateWith, trim, withLog } from "../streams/keeping.ts";
import { type Json, mergePatches } from "../streams/merge-patch.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

/** A document that many patches come to may be so long: it has to fit into a record. */
const MAX_SUMMARY_CHARS = 60 * 1024;

export interface AppendFramesCommand extends Target {
	op: "appendFrames";
	fence?: Fence;
	frames: readonly GivenFrame[];
}

/** A frame as it is kept, and what the rule must know of it. */
export interface GivenFrame {
	mode: FrameMode;
	/** As JSON. */
	text: string;
	seq?: number;
	/** Of a summary frame. */
	patch?: Json;
	/** Of a frame of best effort. */
	ttlMs?: number;
}

export type AppendFramesOutcome = Outcome<{
	lastId: string;
	frameCount: number;
	summaryVersion?: number;
	/** Those of the command that were kept. */
	kept: readonly GivenFrame[];
}>;

/** Frames on their way into a stream, as the chunk of this number. */
interface Append {
	tx: Tx;
	record: ExecutionRecord;
	attempt: number;
	chunk: number;
	frames: readonly GivenFrame[];
	now: number;
}

/** Appends to the stream of the attempt that is held. What a client numbered and sent before is not kept twice. */
export function appendFrames(tx: Tx, command: AppendFramesCommand, now: number): AppendFramesOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "appendFrames");
	if (answer) return answer as AppendFramesOutcome;
	const attempt = record.attempt?.index ?? 0;
	const parts = partsOf(record);
	const key = streamKey(record.id, attempt);
	const isFirst = parts.streams <= attempt;
	const known = (isFirst ? tx.getFresh(key) : tx.get(key)) ?? makeStream({});
	const { epoch } = record;
	const seqBefore = known.epoch === epoch ? known.seq : 0;
	const fresh = command.frames.filter(({ seq }) => seq === undefined || seq > seqBefore);
	if (fresh.length === 0) return told(known, fresh);

	const summary = patched(tx, record, attempt, known, fresh, now);
	if (summary && JSON.stringify(summary.documents).length > MAX_SUMMARY_CHARS)
		return refuse("summary_too_large", { executionId: record.id, limit: MAX_SUMMARY_CHARS });
	const seq = fresh.reduce((last, frame) => Math.max(last, frame.seq ?? 0), seqBefore);
	const chunk = known.next;
	const lastId = frameId({ chunk, place: fresh.length - 1 });
	const append: Append = { tx, record, attempt, chunk, frames: fresh, now };
	let next = amend(known, { next: chunk + 1, lastId, seq, epoch });
	for (const mode of FRAME_MODES) next = keepMode(append, next, mode);
	tx.put(key, next);
	if (summary) tx.put(summaryKey(record.id, attempt), summary);
	if (isFirst) tx.put(executionKey(record.id), amendExecution(record, { parts: { ...parts, streams: attempt + 1 } }));
	return told(next, fresh);
}

function told(stream: StreamRecord, kept: readonly GivenFrame[]): AppendFramesOutcome {
	const frameCount = FRAME_MODES.reduce((sum, mode) => sum + logOf(stream, mode).total, 0);
	const outcome = { ok: true, lastId: stream.lastId, frameCount, kept } as const;
	// Every patch is a version.
	const { total } = stream.summary;
	return total > 0 ? { ...outcome, summaryVersion: total } : outcome;
}

/** The document with these patches; undefined when there are none. */
function patched(
	tx: Tx,
	record: ExecutionRecord,
	attempt: number,
	stream: StreamRecord,
	frames: readonly GivenFrame[],
	now: number,
): SummaryRecord | undefined {
	const patches = frames.filter(({ mode }) => mode === "summary");
	if (patches.length === 0) return undefined;
	const known = (stream.summary.total > 0 && tx.get(summaryKey(record.id, attempt))) || summaryDefaults;
	const [before = null] = known.documents;
	const document = mergePatches(
		before,
		patches.map(({ patch = {} }) => patch),
	);
	return amend(known, { documents: [document], version: known.version + patches.length, updatedAt: now });
}

/** Keeps the frames of one mode as a chunk, and lets go of what there is too much of. */
function keepMode(append: Append, stream: StreamRecord, mode: FrameMode): StreamRecord {
	const { tx, record, chunk, frames, now } = append;
	const placed: PlacedFrame[] = [];
	let ttlMs = 0;
	frames.forEach((frame, place) => {
		if (frame.mode !== mode) return;
		placed.push({ place, text: frame.text });
		ttlMs = Math.max(ttlMs, frame.ttlMs ?? 0);
	});
	const before = logOf(stream, mode);
	// Frames of other modes are a chance to let go of what is over.
	if (placed.length === 0) return trimmed(append, stream, mode, before, Number.POSITIVE_INFINITY);
	tx.putBlob({ key: keyOf(append, chunk, mode), bytes: encodeChunk(now, record.epoch, before.total, placed) });
	const isRated = mode === "best_effort";
	const rate = isRated ? rateWith(stream.rate, placed.length, now) : stream.rate;
	const most = mostOf(mode, record.policy.stream?.maxFrames ?? DEFAULT_MAX_FRAMES, rate, ttlMs);
	const until = ttlMs > 0 ? now + ttlMs : 0;
	const log = addChunk(before, { from: chunk, to: chunk, frames: placed.length, until }, most);
	return trimmed(append, isRated ? amend(stream, { rate }) : stream, mode, log, most);
}

function trimmed(append: Append, stream: StreamRecord, mode: FrameMode, before: ModeLog, most: number): StreamRecord {
	const { log, gone } = trim(before, most, append.now);
	if (gone) for (let n = gone.from; n <= gone.to; n++) append.tx.removeBlob(keyOf(append, n, mode));
	return log === logOf(stream, mode) ? stream : amend(stream, withLog(mode, log));
}

const keyOf = ({ record, attempt }: Append, chunk: number, mode: FrameMode): string =>
	chunkKey(record.id, attempt, chunk, mode);
