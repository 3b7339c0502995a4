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

/** A page ends when it has so many bytes. */
const PAGE_BYTES = 2 * 1024 * 1024;
/** Chunks read at a time: few before it is known how long they are. */
const CHUNKS_AT_FIRST = 4;
const CHUNKS_AT_ONCE = 256;

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
	/** Told of bytes that are no chunk. */
	fault(key: string, error: unknown): void;
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
		fault: (key, error) => session.engine.fault("a record cannot be read", error, key),
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

/** Frames of a range, as readers are shown them. */
export async function readFrames(state: StreamState, name: StreamName, range: FrameRange): Promise<FramePage> {
	const { frames, nextFrom } = await shownFrames(state, name, range);
	return {
		frames: frames.map((frame) => viewOf(frame, name.attempt)),
		...(nextFrom === undefined ? undefined : { nextFrom }),
		...state.closing,
	};
}

/** Frames of a range in the order they came, without those that are no longer shown. A page that goes on has some. */
export async function shownFrames(
	{ runner, stream, maxFrames, fault }: StreamState,
	name: StreamName,
	range: FrameRange,
): Promise<{ frames: Frame[]; nextFrom: string | undefined }> {
	const frames: Frame[] = [];
	let [bytes, count, decoded] = [0, 0, 0];
	const walk = new ChunkWalk(chunksFrom(stream, range));
	while (walk.next !== undefined && (frames.length === 0 || bytes < PAGE_BYTES)) {
		const fitting = count === 0 ? CHUNKS_AT_FIRST : Math.ceil((count * PAGE_BYTES) / (bytes + 1));
		// As many as are needed, if the next have as many frames each as those before.
		const perChunk = Math.max(1, decoded / Math.max(1, count));
		const needed = Math.ceil((range.limit + 1 - frames.length) / perChunk);
		const step = walk.take(Math.min(CHUNKS_AT_ONCE, fitting, needed));
		count += step.length;
		const keys = step.map(({ chunk, mode }) => chunkKey(name.id, name.attempt, chunk, mode));
		const { blobs, time } = await runner.ask((store, partition) => store.readBlobs(partition, keys));
		const found = step.flatMap(({ chunk, mode }, n): Frame[] => {
			const blob = blobs[n];
			if (!blob) return [];
			try {
				return decodeChunk(Buffer.from(blob).toString(), chunk, mode);
			} catch (error) {
				fault(keys[n] ?? "", error);
				return [];
			}
		});
		decoded += found.length;
		for (const frame of found.sort(comparePositions)) {
			if (!isWithin(frame, range) || !isShown(frame, stream, maxFrames, time)) continue;
			if (frames.length === range.limit) return { frames, nextFrom: frameId(frame) };
			frames.push(frame);
		}
		for (const blob of blobs) bytes += blob?.byteLength ?? 0;
	}
	return { frames, nextFrom: walk.next === undefined ? undefined : frameId({ chunk: walk.next, place: 0 }) };
}

interface ChunkName {
	chunk: number;
	mode: FrameMode;
}

/**
 * The chunks that may hold frames of a range, in order and only as far as they are asked for. Some are not there: numbers
 * that other modes have used.
 */
function* chunksFrom(stream: StreamRecord, { from, after, to }: FrameRange): Generator<ChunkName> {
	const last = to?.chunk ?? stream.next - 1;
	const logs = FRAME_MODES.map((mode) => ({ mode, groups: [...logOf(stream, mode).groups] }));
	for (let chunk = from?.chunk ?? after?.chunk ?? 0; chunk <= last; ) {
		let nearest = Number.POSITIVE_INFINITY;
		for (const { mode, groups } of logs) {
			while (groups[0] && groups[0].to < chunk) groups.shift();
			const [group] = groups;
			if (!group) continue;
			if (group.from <= chunk) yield { chunk, mode };
			nearest = Math.min(nearest, Math.max(group.from, chunk + 1));
		}
		chunk = nearest;
	}
}

/** Takes chunks one number after the other, all of one number together: their frames stand in one order. */
class ChunkWalk {
	readonly #chunks: Generator<ChunkName>;
	#next: ChunkName | undefined;

	constructor(chunks: Generator<ChunkName>) {
		this.#chunks = chunks;
		this.#step();
	}

	/** The number of the next chunk; undefined at the end. */
	get next(): number | undefined {
		return this.#next?.chunk;
	}

	take(most: number): ChunkName[] {
		const taken: ChunkName[] = [];
		while (this.#next && (taken.length < most || this.#next.chunk === taken.at(-1)?.chunk)) {
			taken.push(this.#next);
			this.#step();
		}
		return taken;
	}

	#step(): void {
		const { value, done } = this.#chunks.next();
		this.#next = done ? undefined : value;
	}
}

const isWithin = (frame: Frame, { from, after, to }: FrameRange): boolean =>
	(!from || comparePositions(frame, from) >= 0) &&
	(!after || comparePositions(frame, after) > 0) &&
	(!to || comparePositions(frame, to) <= 0);

export function viewOf(frame: Frame, attempt: number): FrameView {
	const { at, mode, epoch, t, x, b, p, q } = frame;
	const type = t ?? (x !== undefined ? "text" : b !== undefined ? "data" : "patch");
	const view: FrameView = { id: frameId(frame), at, type, mode, attempt, epoch };
	if (x !== undefined) view.text = x;
	if (b !== undefined) view.payloadBase64 = b;
	if (p !== undefined) view.patch = p;
	if (q !== undefined) view.seq = q;
	return view;
}
