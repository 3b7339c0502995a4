import { createHash } from "node:crypto";
import { FlowFabricError } from "../contract/errors.ts";
import type { Bytes } from "../contract/replies.ts";
import { type Blob, INLINE_PAYLOAD_BYTES, JSON_CONTENT, MAX_PAYLOAD_BYTES, type Payload } from "../kernel/payload.ts";

/** Between the values callers speak of and the bytes that are kept. */

const OCTETS = "application/octet-stream";
const isJson = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\b/.test(contentType);
const isText = (contentType: string): boolean => contentType.startsWith("text/");

/** A value or base64 as a caller gave it, under the name of its field. */
export interface GivenPayload {
	field: "input" | "result";
	value: unknown;
	base64: string | undefined;
	contentType: string | undefined;
}

/** The bytes a caller means; undefined when there are none. */
export function bytesOf(given: GivenPayload): Bytes | undefined {
	const { field, value, base64, contentType } = given;
	if (base64 !== undefined) {
		if (value !== undefined) throw invalid(`${field}Base64`, `must not be given together with ${field}`);
		return within(field, { bytes: Buffer.from(base64, "base64"), contentType: contentType ?? OCTETS });
	}
	if (value === undefined) return undefined;
	const type = contentType ?? JSON_CONTENT;
	if (isText(type) && typeof value === "string") return within(field, { bytes: Buffer.from(value), contentType: type });
	if (!isJson(type)) throw invalid(field, `must be given as ${field}Base64 for contentType ${type}`);
	return within(field, { bytes: Buffer.from(toJson(field, value)), contentType: type });
}

function toJson(field: string, value: unknown): string {
	try {
		const text = JSON.stringify(value);
		if (text !== undefined) return text;
	} catch (error) {
		throw invalid(field, `cannot be written as JSON: ${(error as Error).message}`);
	}
	throw invalid(field, `cannot be written as JSON: it is a ${typeof value}`);
}

function within(field: string, given: Bytes): Bytes {
	const size = given.bytes.byteLength;
	if (size <= MAX_PAYLOAD_BYTES) return given;
	throw new FlowFabricError("payload_too_large", {
		message: `${field}: must be at most ${MAX_PAYLOAD_BYTES} bytes, got ${size}`,
		details: { field, limit: MAX_PAYLOAD_BYTES, size },
	});
}

function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}

/** Puts bytes into their envelope: inside the record while small, else apart under `key`. */
export function pack(given: Bytes | undefined, key: string): { payload: Payload | null; blob?: Blob } {
	if (!given) return { payload: null };
	const { bytes, contentType } = given;
	const payload: Payload = { size: bytes.byteLength, ...(contentType === JSON_CONTENT ? undefined : { contentType }) };
	if (bytes.byteLength > INLINE_PAYLOAD_BYTES) return { payload: { ...payload, ref: key }, blob: { key, bytes } };
	if (isJson(contentType) || isText(contentType)) {
		const text = Buffer.from(bytes).toString("utf8");
		// Bytes that are no text under a text type must come back as they were.
		if (Buffer.byteLength(text) === bytes.byteLength && !text.includes("\ufffd"))
			return { payload: { ...payload, text } };
	}
	return { payload: { ...payload, base64: Buffer.from(bytes).toString("base64") } };
}

/** The bytes of an envelope; `blob` is what was kept apart, if it was. */
export function unpack(payload: Payload, blob: Uint8Array | undefined): Bytes {
	const contentType = payload.contentType ?? JSON_CONTENT;
	if (payload.text !== undefined) return { bytes: Buffer.from(payload.text), contentType };
	if (payload.base64 !== undefined) return { bytes: Buffer.from(payload.base64, "base64"), contentType };
	if (!blob)
		throw new FlowFabricError("corrupt_record", {
			message: "bytes of a payload are missing",
			details: { field: "ref" },
		});
	return { bytes: blob, contentType };
}

/** A payload as a value where its type allows, else as base64. */
export function asValue({ bytes, contentType }: Bytes): { value: unknown } | { base64: string } {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (isText(contentType)) return { value: buffer.toString("utf8") };
	if (isJson(contentType)) {
		try {
			return { value: JSON.parse(buffer.toString("utf8")) };
		} catch {
			// Not what its type says; whoever sent it gets the same bytes back.
		}
	}
	return { base64: buffer.toString("base64") };
}

/** SHA-256 over the canonical JSON of a create's fields and its input: what an idempotency key stands for. */
export function bodyHash(fields: Record<string, unknown>, input: Bytes | undefined): string {
	const hash = createHash("sha256").update(canonicalJson(fields));
	if (input) hash.update("\n").update(input.bytes);
	return hash.digest("hex");
}

function canonicalJson(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const members = Object.entries(value)
		.filter(([, member]) => member !== undefined)
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
	return `{${members.join(",")}}`;
}
