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

function givenFrame(frame: FrameRequest): GivenFrame {
	const { mode = "durable", patch, seq, ttlMs } = frame;
	const shownMs = mode === "best_effort" ? (ttlMs ?? DEFAULT_TTL_MS) : undefined;
	const kept: GivenFrame = { mode, text: textOf(frame, shownMs) };
	if (seq !== undefined) kept.seq = seq;
	// A copy: whoever calls in this process may change its own before the rule runs.
	if (patch !== undefined) kept.patch = JSON.parse(JSON.stringify(patch)) as Json;
	if (shownMs !== undefined) kept.ttlMs = shownMs;
	return kept;
}

/** A `StoredFrame` as JSON, joined from its members: most frames are a text and a number, and there are many of them. */
function textOf({ type, text, payloadBase64, patch, seq }: FrameRequest, shownMs: number | undefined): string {
	let members = "";
	const add = (name: keyof StoredFrame, json: string) => {
		members += `${members === "" ? "" : ","}"${name}":${json}`;
	};
	if (type !== undefined) add("t", JSON.stringify(type));
	if (text !== undefined) add("x", JSON.stringify(text));
	if (payloadBase64 !== undefined) add("b", JSON.stringify(payloadBase64));
	if (patch !== undefined) add("p", JSON.stringify(patch));
	if (seq !== undefined) add("q", String(seq));
	if (shownMs !== undefined) add("e", String(shownMs));
	return `{${members}}`;
}
