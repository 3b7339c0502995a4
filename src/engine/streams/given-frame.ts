import { checkFrame, invalid, tooLarge } from "../../contract/frames.ts";
import { type FrameRequest, MAX_APPEND_BYTES } from "../../contract/streams.ts";
import type { GivenFrame } from "../../kernel/rules/append-frames.ts";
import type { StoredFrame } from "../../kernel/streams/chunks.ts";
import type { Json } from "../../kernel/streams/merge-patch.ts";

/** How long a frame of best effort is shown that says nothing of it. */
const DEFAULT_TTL_MS = 60_000;

/** Frames as they are kept, from what a worker sent. */
export function givenFrames(frames: readonly FrameRequest[]): GivenFrame[] {
	let bytes = 0;
	let last = 0;
	return frames.map((frame, n) => {
		const { seq = last + 1 } = frame;
		if (seq <= last) throw invalid(`frames[${n}].seq`, `must be above ${last}, which came before it`);
		if (frame.seq !== undefined) last = seq;
		bytes += checkFrame(frame, `frames[${n}]`);
		if (bytes > MAX_APPEND_BYTES) throw tooLarge("frames", MAX_APPEND_BYTES, bytes);
		return givenFrame(frame);
	});
}

function givenFrame({ type, mode = "durable", text, payloadBase64, patch, seq, ttlMs }: FrameRequest): GivenFrame {
	const stored: StoredFrame = {};
	if (type !== undefined) stored.t = type;
	if (text !== undefined) stored.x = text;
	if (payloadBase64 !== undefined) stored.b = payloadBase64;
	if (patch !== undefined) stored.p = patch;
	if (seq !== undefined) stored.q = seq;
	if (mode === "best_effort") stored.e = ttlMs ?? DEFAULT_TTL_MS;
	const kept: GivenFrame = { mode, text: JSON.stringify(stored) };
	if (seq !== undefined) kept.seq = seq;
	// A copy: whoever calls in this process may change its own before the rule runs.
	if (patch !== undefined) kept.patch = JSON.parse(JSON.stringify(patch)) as Json;
	if (stored.e !== undefined) kept.ttlMs = stored.e;
	return kept;
}
