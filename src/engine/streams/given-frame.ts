import { FlowFabricError } from "../../contract/errors.ts";
import { BASE64_FORM } from "../../contract/fields.ts";
import { type FrameRequest, MAX_APPEND_BYTES, MAX_FRAME_BYTES } from "../../contract/streams.ts";
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
		const size = sizeOf(frame);
		bytes += size;
		if (bytes > MAX_APPEND_BYTES) throw tooLarge("frames", MAX_APPEND_BYTES, bytes);
		return givenFrame(frame, size, n);
	});
}

function givenFrame(frame: FrameRequest, size: number, n: number): GivenFrame {
	const { mode = "durable", text, payloadBase64, patch, seq, ttlMs } = frame;
	const at = () => `frames[${n}]`;
	const given = Number(text !== undefined) + Number(payloadBase64 !== undefined) + Number(patch !== undefined);
	if (given !== 1) throw invalid(at(), "must have exactly one of text, payloadBase64 and patch");
	if ((patch !== undefined) !== (mode === "summary"))
		throw invalid(`${at()}.mode`, "patch is what a summary frame carries, and nothing else");
	if (ttlMs !== undefined && mode !== "best_effort") throw invalid(`${at()}.ttlMs`, "is for frames of best_effort");
	if (payloadBase64 !== undefined && payloadBase64.length % 4 !== 0)
		throw invalid(`${at()}.payloadBase64`, `${BASE64_FORM}, got ${payloadBase64.length} characters`);
	if (size > MAX_FRAME_BYTES) throw tooLarge(at(), MAX_FRAME_BYTES, size);
	const shownMs = mode === "best_effort" ? (ttlMs ?? DEFAULT_TTL_MS) : undefined;
	const kept: GivenFrame = { mode, text: textOf(frame, shownMs) };
	if (seq !== undefined) kept.seq = seq;
	if (patch !== undefined) kept.patch = patch as Json;
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

function sizeOf({ text, payloadBase64, patch }: FrameRequest): number {
	if (text !== undefined) return Buffer.byteLength(text);
	if (payloadBase64 !== undefined) return Buffer.byteLength(payloadBase64, "base64");
	return patch === undefined ? 0 : Buffer.byteLength(JSON.stringify(patch));
}

const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });

const tooLarge = (field: string, limit: number, size: number): FlowFabricError =>
	new FlowFabricError("payload_too_large", {
		message: `${field}: must be at most ${limit} bytes, got ${size}`,
		details: { field, limit, size },
	});
