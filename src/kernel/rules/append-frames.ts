import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { amendExecution, type ExecutionRecord, executionKey, partsOf } from "../records/execution.ts";
import { amend } from "../records/record.ts";
import {
	chunkKey,
	FRAME_MODES,
	type FrameMode,
	makeStream,
	type StreamRecord,
	type SummaryRecord,
	streamKey,
	summaryDefaults,
	summaryKey,
} from "../records/stream.ts";
import { encodeChunk, frameId, type PlacedFrame } from "../streams/chunks.ts";
import { addChunk, DEFAULT_MAX_FRAMES, logOf, mostOf, rateWith, trim, withLog } from "../streams/keeping.ts";
import { type Json, mergePatch } from "../streams/merge-patch.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

/** A document that many patches come to may be so long. */
export const MAX_SUMMARY_CHARS = 256 * 1024;

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

export type AppendFramesOutcome = Outcome<{ lastId: string; frameCount: number; summaryVersion?: number }>;

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
	if (fresh.length === 0) return told(known, summaryOf(tx, record, attempt, known));

	const summary = patched(tx, record, attempt, known, fresh, now);
	if (summary && summary.document.length > MAX_SUMMARY_CHARS)
		return refuse("summary_too_large", { executionId: record.id, limit: MAX_SUMMARY_CHARS });
	const seq = fresh.reduce((last, frame) => Math.max(last, frame.seq ?? 0), seqBefore);
	const chunk = known.next;
	const lastId = frameId({ chunk, place: fresh.length - 1 });
	let next = amend(known, { next: chunk + 1, lastId, seq, epoch });
	for (const mode of FRAME_MODES) next = keepMode(tx, record, attempt, next, chunk, mode, fresh, now);
	tx.put(key, next);
	if (summary) tx.put(summaryKey(record.id, attempt), summary);
	if (isFirst) tx.put(executionKey(record.id), amendExecution(record, { parts: { ...parts, streams: attempt + 1 } }));
	return told(next, summary ?? summaryOf(tx, record, attempt, next));
}

function told({ lastId, durable }: StreamRecord, summary: SummaryRecord | undefined): AppendFramesOutcome {
	const outcome = { ok: true, lastId, frameCount: durable.total } as const;
	return summary ? { ...outcome, summaryVersion: summary.version } : outcome;
}

const summaryOf = (tx: Tx, { id }: ExecutionRecord, attempt: number, { summary }: StreamRecord) =>
	summary.total > 0 ? tx.get(summaryKey(id, attempt)) : undefined;

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
	const known = summaryOf(tx, record, attempt, stream) ?? summaryDefaults;
	const before = known.document === "" ? undefined : (JSON.parse(known.document) as Json);
	const document = patches.reduce<Json | undefined>((merged, { patch = {} }) => mergePatch(merged, patch), before);
	return { document: JSON.stringify(document), version: known.version + patches.length, updatedAt: now };
}

/** Keeps the frames of one mode as a chunk, and lets go of what there is too much of. */
function keepMode(
	tx: Tx,
	{ id, policy, epoch }: ExecutionRecord,
	attempt: number,
	stream: StreamRecord,
	chunk: number,
	mode: FrameMode,
	frames: readonly GivenFrame[],
	now: number,
): StreamRecord {
	const placed: PlacedFrame[] = [];
	let ttlMs = 0;
	for (const [place, frame] of frames.entries()) {
		if (frame.mode !== mode) continue;
		placed.push({ place, text: frame.text });
		ttlMs = Math.max(ttlMs, frame.ttlMs ?? 0);
	}
	if (placed.length === 0) return stream;
	const before = logOf(stream, mode);
	tx.putBlob({ key: chunkKey(id, attempt, chunk, mode), bytes: encodeChunk(now, epoch, before.total, placed) });
	const rate = mode === "best_effort" ? rateWith(stream.rate, placed.length, now) : stream.rate;
	const most = mostOf(mode, policy.stream?.maxFrames ?? DEFAULT_MAX_FRAMES, rate, ttlMs);
	const { log, gone } = trim(addChunk(before, chunk, placed.length, ttlMs > 0 ? now + ttlMs : 0), most, now);
	if (gone) for (let n = gone.from; n <= gone.to; n++) tx.removeBlob(chunkKey(id, attempt, n, mode));
	return amend(stream, { ...withLog(mode, log), rate });
}
