/**
 * The server keeps bytes and the driver speaks UTF-8, which has no form for a lone surrogate: two keys could quietly
 * become one. Strings that hold one, which only hostile or broken callers send, are kept as the hexadecimal digits of
 * their UTF-16 behind a mark; they sort behind all other text.
 */
const MARK = "\u{10ffff}";
const MARK_START = MARK.charCodeAt(0);

const isWellFormed = (String.prototype as unknown as { isWellFormed(): boolean }).isWellFormed;

export function toText(value: string): string {
	if (isWellFormed.call(value) && !(value.charCodeAt(0) === MARK_START && value.startsWith(MARK))) return value;
	return MARK + Buffer.from(value, "utf16le").toString("hex");
}

export function fromText(stored: string): string {
	if (stored.charCodeAt(0) !== MARK_START || !stored.startsWith(MARK)) return stored;
	return Buffer.from(stored.slice(MARK.length), "hex").toString("utf16le");
}
