import { FlowFabricError } from "./errors.ts";
import { BASE64_FORM } from "./fields.ts";
import { type FrameRequest, MAX_FRAME_BYTES } from "./streams.ts";

/** What one frame must be beyond its shape; `at` is how a refusal names it. Gives how many bytes it carries. */
export function checkFrame(frame: FrameRequest, at: string): number {
	const { mode = "durable", text, payloadBase64, patch, ttlMs } = frame;
	const given = Number(text !== undefined) + Number(payloadBase64 !== undefined) + Number(patch !== undefined);
	if (given !== 1) throw invalid(at, "must have exactly one of text, payloadBase64 and patch");
	if ((patch !== undefined) !== (mode === "summary"))
		throw invalid(`${at}.mode`, "patch is what a summary frame carries, and nothing else");
	if (ttlMs !== undefined && mode !== "best_effort") throw invalid(`${at}.ttlMs`, "is for frames of best_effort");
	if (payloadBase64 !== undefined && payloadBase64.length % 4 !== 0)
		throw invalid(`${at}.payloadBase64`, `${BASE64_FORM}, got ${payloadBase64.length} characters`);
	const size = sizeOf(frame, at);
	if (size > MAX_FRAME_BYTES) throw tooLarge(at, MAX_FRAME_BYTES, size);
	return size;
}

function sizeOf({ text, payloadBase64, patch }: FrameRequest, at: string): number {
	if (text !== undefined) return Buffer.byteLength(text);
	if (payloadBase64 !== undefined) return Buffer.byteLength(payloadBase64, "base64");
	const json: string | undefined = JSON.stringify(patch);
	if (json === undefined) throw invalid(`${at}.patch`, "must be a value of JSON");
	return Buffer.byteLength(json);
}

export const invalid = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });

export const tooLarge = (field: string, limit: number, size: number): FlowFabricError =>
	new FlowFabricError("payload_too_large", {
		message: `${field}: must be at most ${limit} bytes, got ${size}`,
		details: { field, limit, size },
	});
