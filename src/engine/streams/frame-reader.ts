import { FlowFabricError } from "../../contract/errors.ts";
import type { FramePage, FrameView } from "../../contract/replies.ts";
import { type AttemptRecord, attemptKey } from "../../kernel/records/attempt.ts";
import { type Attempt, type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import {
	chunkKey,
	FRAME_MODES,
	type FrameMode,
	makeStream,
	type StreamRecord,
	streamKey,
} from "../../kernel/records/stream.ts";
import { hasEnded } from "../../kernel/state.ts";
import { comparePositions, decodeChunk, type Frame, type FramePosition, frameId } from "../../kernel/streams/chunks.ts";
import { closingOf } from "../../kernel/streams/closing.ts";
import { DEFAULT_MAX_FRAMES, isShown, logOf } from "../../kernel/streams/keeping.ts";
import { isFor } from "../../kernel/target.ts";
import type { Session } from "../calls/session.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Chunks read at a time, and how many bytes a page may have before it ends there. */
const CHUNKS_AT_ONCE = 64;
const PAGE_BYTES = 2 * 1024 * 1024;

export interface StreamName {
	id: string;
	attempt: number;
}

/** A stream as it is now. */
export interface StreamState {
	runner: PartitionRunner;
	stream: StreamRecord;
	maxFrames: number;
	closing: ReturnType<typeof closingOf>;
}

export async function readStream(session: Session, { id, attempt }: StreamName): Promise<StreamState> {
	const runner = session.runnerOf(id);
	const keys = [executionKey(id), streamKey(id, attempt), attemptKey(id, attempt)];
	const { records } = await runner.ask((store, partition) => store.read(partition, keys));
	const [stored, header, ended] = records;
	const record = stored && stored.version > 0 ? session.decode<ExecutionRecord>(stored) : undefined;
	if (!record || !isFor(record, session.caller.namespace))
		throw new FlowFabricError("execution_not_found", { details: { executionId: id } });
	const earlier = ended && ended.version > 0 ? session.decode<AttemptRecord>(ended).attempt : undefined;
	const own: Attempt | null | undefined = record.attempt?.index === attempt ? record.attempt : earlier;
	// One that is not there yet may come, as long as the execution lasts.
	if (!own && (hasEnded(record) || attempt < (record.attempt?.index ?? 0)))
		throw new FlowFabricError("attempt_not_found", { details: { executionId: id, attempt } });
	return {
		runner,
		stream: header && header.version > 0 ? session.decode<StreamRecord>(header) : makeStream({}),
		maxFrames: record.policy.stream?.maxFrames ?? DEFAULT_MAX_FRAMES,
		closing: closingOf(own),
	};
}

/** Which frames are meant; both ends count. */
export interface FrameRange {
	from?: FramePosition | undefined;
	/** Frames behind this one. */
	after?: FramePosition | undefined;
	to?: FramePosition | undefined;
	limit: number;
}

/** Frames of a stream in the order they came. What was trimmed meanwhile is not among them. */
export async function readFrames(
	{ runner, stream, maxFrames, closing }: StreamState,
	name: StreamName,
	range: FrameRange,
): Promise<FramePage> {
	const frames: FrameView[] = [];
	let bytes = 0;
	let next: Frame | undefined;
	const chunks = chunksFrom(stream, range);
	while (chunks.length > 0 && !next && bytes < PAGE_BYTES) {
		// As many as may be needed, if each has but one frame.
		const step = chunks.splice(0, Math.min(CHUNKS_AT_ONCE, range.limit + 1 - frames.length));
		const keys = step.map(({ chunk, mode }) => chunkKey(name.id, name.attempt, chunk, mode));
		const { blobs, time } = await runner.ask((store, partition) => store.readBlobs(partition, keys));
		const found = step.flatMap(({ chunk, mode }, n) => {
			const blob = blobs[n];
			bytes += blob?.byteLength ?? 0;
			return blob ? decodeChunk(Buffer.from(blob).toString(), chunk, mode) : [];
		});
		for (const frame of found.sort(comparePositions)) {
			if (!isWithin(frame, range) || !isShown(frame, stream, maxFrames, time)) continue;
			if (frames.length === range.limit) {
				next = frame;
				break;
			}
			frames.push(view(frame, name.attempt));
		}
	}
	const [rest] = chunks;
	const nextFrom = next ? frameId(next) : rest ? frameId({ chunk: rest.chunk, place: 0 }) : undefined;
	return { frames, ...(nextFrom === undefined ? undefined : { nextFrom }), ...closing };
}

/** The chunks that may hold frames of a range, in order. Of a sparse mode some are not there. */
function chunksFrom(stream: StreamRecord, { from, after, to }: FrameRange): { chunk: number; mode: FrameMode }[] {
	const first = from?.chunk ?? after?.chunk ?? 0;
	const last = to?.chunk ?? stream.next - 1;
	const chunks: { chunk: number; mode: FrameMode }[] = [];
	for (const mode of FRAME_MODES) {
		for (const group of logOf(stream, mode).groups) {
			for (let chunk = Math.max(first, group.from); chunk <= Math.min(last, group.to); chunk++)
				chunks.push({ chunk, mode });
		}
	}
	return chunks.sort((a, b) => a.chunk - b.chunk);
}

const isWithin = (frame: Frame, { from, after, to }: FrameRange): boolean =>
	(!from || comparePositions(frame, from) >= 0) &&
	(!after || comparePositions(frame, after) > 0) &&
	(!to || comparePositions(frame, to) <= 0);

function view(frame: Frame, attempt: number): FrameView {
	const { at, mode, epoch, t, x, b, p, q } = frame;
	const type = t ?? (x !== undefined ? "text" : b !== undefined ? "data" : "patch");
	return {
		id: frameId(frame),
		at,
		type,
		mode,
		attempt,
		epoch,
		...(x === undefined ? undefined : { text: x }),
		...(b === undefined ? undefined : { payloadBase64: b }),
		...(p === undefined ? undefined : { patch: p }),
		...(q === undefined ? undefined : { seq: q }),
	};
}
