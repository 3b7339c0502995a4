import type { AskPartition } from "../../engine/duties/index-walk.ts";
import { decode } from "../../kernel/record-types.ts";
import { chunkKey, FRAME_MODES, type FrameMode, type StreamRecord } from "../../kernel/records/stream.ts";
import { decodeChunk } from "../../kernel/streams/chunks.ts";
import { logOf } from "../../kernel/streams/keeping.ts";

/** Chunks read at a time; each may be as long as an append. */
const CHUNKS_AT_ONCE = 16;
/** A stream that changes all the while is not worth more looks. */
const MOST_LOOKS = 5;

/** What a stream has, and what of it cannot be shown. */
export interface StreamCheck {
	frames: number;
	problems: string[];
}

/** Reads all chunks of a stream. Others may write to it meanwhile: what seems wrong counts only if its record stayed. */
export async function checkStream(ask: AskPartition, key: string, doc: string): Promise<StreamCheck> {
	let known = doc;
	for (let looks = 1; ; looks++) {
		const check = await readChunks(ask, key, decode(key, known) as StreamRecord);
		if (check.problems.length === 0) return check;
		const { records } = await ask((store, partition) => store.read(partition, [key]));
		const [now] = records;
		if (now?.doc === known && now.version > 0) return check;
		if (!now || now.version === 0 || looks === MOST_LOOKS) return { frames: check.frames, problems: [] };
		known = now.doc;
	}
}

async function readChunks(ask: AskPartition, key: string, stream: StreamRecord): Promise<StreamCheck> {
	const check: StreamCheck = { frames: 0, problems: [] };
	const [, id = "", attempt = ""] = /^(.+)\/h(\d+)$/.exec(key) ?? [];
	for (const mode of FRAME_MODES) {
		const { total, kept, groups } = logOf(stream, mode);
		const before = check.problems.length;
		const numbers = groups.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, n) => from + n));
		/** Frames of a mode are counted: the number the next one must have. */
		let next: number | undefined;
		for (let at = 0; at < numbers.length; at += CHUNKS_AT_ONCE) {
			const taken = numbers.slice(at, at + CHUNKS_AT_ONCE);
			const keys = taken.map((chunk) => chunkKey(id, Number(attempt), chunk, mode));
			const { blobs } = await ask((store, partition) => store.readBlobs(partition, keys));
			for (const [n, bytes] of blobs.entries()) {
				// Numbers in between may be those of other modes.
				if (!bytes) continue;
				const read = countsOf(bytes, taken[n] ?? 0, mode);
				if (!read) check.problems.push(`bytes ${keys[n]} are no frames`);
				else if (next !== undefined && read.first !== next) check.problems.push(lacks(key, mode, next, read.first));
				check.frames += read ? read.end - read.first : 0;
				next = read?.end;
			}
		}
		const isTold = check.problems.length > before;
		if (kept > 0 && next !== total && !isTold) check.problems.push(lacks(key, mode, next ?? total - kept, total));
	}
	return check;
}

const lacks = (key: string, mode: FrameMode, from: number, to: number): string =>
	`stream ${key} lacks ${mode} frames ${from + 1} to ${to}`;

/** The numbers of its first frame and of the one behind its last; undefined when these are no frames. */
function countsOf(bytes: Uint8Array, chunk: number, mode: FrameMode): { first: number; end: number } | undefined {
	try {
		const frames = decodeChunk(Buffer.from(bytes).toString(), chunk, mode);
		const [first] = frames;
		return first && { first: first.before, end: first.before + frames.length };
	} catch {
		return undefined;
	}
}
