/**
 * SQLite keeps text as UTF-8, which has no form for a lone surrogate: the driver would quietly put U+FFFD in its place,
 * and two keys could become one. Such strings, which only hostile or broken callers send, are kept as their UTF-16 bytes
 * instead; SQLite sorts those behind all text.
 */
export type Text = string | Buffer;

const isWellFormed = (String.prototype as unknown as { isWellFormed(): boolean }).isWellFormed;

export function toText(value: string): Text {
	return isWellFormed.call(value) ? value : Buffer.from(value, "utf16le");
}

export function fromText(stored: Text): string {
	return typeof stored === "string" ? stored : stored.toString("utf16le");
}
