/** How bytes of a media type are shown: JSON as a value, text as a string, everything else as bytes. */
export const isJson = (contentType: string): boolean =>
	contentType === "application/json" || /^application\/(?:[\w.+-]+\+)?json\b/.test(contentType);
export const isText = (contentType: string): boolean => contentType.startsWith("text/");

/** Bytes as a program uses them. */
export function fromBytes({ bytes, contentType }: { bytes: Uint8Array; contentType: string }): unknown {
	const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	if (isJson(contentType)) return JSON.parse(buffer.toString());
	return isText(contentType) ? buffer.toString() : new Uint8Array(bytes);
}
