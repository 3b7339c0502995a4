import { createHash } from "node:crypto";
import { isJson, isText } from "../contract/content-types.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { BASE64_FORM } from "../contract/fields.ts";
import { toJson } from "../contract/json.ts";
import type { Bytes } from "../contract/replies.ts";
import { type Blob, INLINE_PAYLOAD_BYTES, JSON_CONTENT, MAX_PAYLOAD_BYTES, type Payload } from "../kernel/payload.ts";

/** Between the values callers speak of and the bytes that are kept. */

const OCTETS = "application/octet-stream";

/** A value or base64 as a caller gave it, under the name of its field. */
export interface GivenPayload {
	field: "input" | "result" | "payload";
	value: unknown;
	base64: string | undefined;
	contentType: string | undefined;
	/** Bytes, where a caller gave them as they are. */
	bytes?: Uint8Array;
}

/** What a caller means: text that is known to be text, or bytes. */
export interface Content {
	contentType: string;
	size: number;
	text?: string;
	/** The text is JSON written here: it holds neither raw control characters nor lone surrogates. */
	isJson?: true;
	bytes?: Uint8Array;
}

/** The content a caller means; undefined when there is none. */
export function contentOf(given: GivenPayload): Content | undefined {
	const { field, value, base64, contentType } = given;
	if (given.bytes) {
		const { bytes } = given;
		return within(field, { bytes, size: bytes.byteLength, contentType: contentType ?? OCTETS });
	}
	if (base64 !== undefined) {
		if (value !== undefined) throw invalid(`${field}Base64`, `must not be given together with ${field}`);
		if (base64.length % 4 !== 0) throw invalid(`${field}Base64`, `${BASE64_FORM}, got ${base64.length} characters`);
		const bytes = Buffer.from(base64, "base64");
		return within(field, { bytes, size: bytes.byteLength, contentType: contentType ?? OCTETS });
	}
	if (value === undefined) return undefined;
	const type = contentType ?? JSON_CONTENT;
	const isPlainText = isText(type) && typeof value === "string";
	if (!isPlainText && !isJson(type)) throw invalid(field, `must be given as ${field}Base64 for contentType ${type}`);
	if (isPlainText) return within(field, { text: value, size: Buffer.byteLength(value), contentType: type });
	const text = toJson(field, value);
	return within(field, { text, isJson: true, size: Buffer.byteLength(text), contentType: type });
}

function within(field: string, given: Content): Content {
	const { size } = given;
	if (size <= MAX_PAYLOAD_BYTES) return given;
	throw new FlowFabricError("payload_too_large", {
		message: `${field}: must be at most ${MAX_PAYLOAD_BYTES} bytes, got ${size}`,
		details: { field, limit: MAX_PAYLOAD_BYTES, size },
	});
}

function invalid(field: string, problem: string): FlowFabricError {
	return new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
}

/** Puts content into its envelope: inside the record while small, else apart under `key`. */
export function pack(given: Content | undefined, key: string): { payload: Payload | null; blob?: Blob } {
	if (!given) return { payload: null };
	const { size, contentType } = given;
	const payload: Payload = contentType === JSON_CONTENT ? { size } : { size, contentType };
	if (size > INLINE_PAYLOAD_BYTES) return { payload: { ...payload, ref: key }, blob: { key, bytes: bytesOf(given) } };
	// A lone surrogate would not come back from UTF-8 as it was, and control characters take six times their room.
	const { text } = given;
	if (text !== undefined && (given.isJson || (text.isWellFormed() && !CONTROL.test(text)))) payload.text = text;
	else payload.base64 = Buffer.from(bytesOf(given)).toString("base64");
	return { payload };
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

export const bytesOf = ({ text, bytes }: Content): Uint8Array => bytes ?? Buffer.from(text ?? "");

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

/** A payload inside its record as a value, without the way over bytes; undefined when it has to be taken. */
export function inlineValue({ contentType = JSON_CONTENT, text }: Payload): { value: unknown } | undefined {
	if (text === undefined) return undefined;
	if (contentType === JSON_CONTENT) return { value: JSON.parse(text) };
	return isText(contentType) ? { value: text } : { value: JSON.parse(text) };
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
export function bodyHash(fields: Record<string, unknown>, input: Content | undefined): string {
	const hash = createHash("sha256").update(canonicalJson(fields));
	if (input) hash.update("\n").update(bytesOf(input));
	return hash.digest("hex");
}

/** A part of what is hashed that was written already. */
export class CanonicalText {
	readonly text: string;

	constructor(text: string) {
		this.text = text;
	}
}

export function canonicalJson(value: unknown): string {
	if (value instanceof CanonicalText) return value.text;
	if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
	if (typeof value !== "object" || value === null) return JSON.stringify(value);
	const members = Object.entries(value)
		.filter(([, member]) => member !== undefined)
		.sort(([a], [b]) => (a < b ? -1 : 1))
		.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
	return `{${members.join(",")}}`;
}
