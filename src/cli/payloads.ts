import { isJson, isText } from "../contract/content-types.ts";
import type { Bytes } from "../contract/replies.ts";
import { harmless } from "./format/text.ts";
import type { Terminal } from "./terminal.ts";

/** Payloads in a JSON document, named as the API names them. */
export function payloadFields(name: "input" | "result", payload: Bytes | undefined): Record<string, unknown> {
	if (!payload) return {};
	const { bytes, contentType } = payload;
	const buffer = Buffer.from(bytes);
	if (isJson(contentType)) return { [name]: JSON.parse(buffer.toString()) };
	if (isText(contentType)) return { [name]: buffer.toString(), contentType };
	return { [`${name}Base64`]: buffer.toString("base64"), contentType };
}

/** The bytes as they are; a terminal gets a line end behind text, and is spared what is none. */
export function writePayload(terminal: Terminal, { bytes, contentType }: Bytes): void {
	if (!terminal.isTTY) return terminal.write(bytes);
	if (!isJson(contentType) && !isText(contentType))
		return terminal.print(`(${bytes.byteLength} bytes of ${contentType}; send them into a file or a pipe)`);
	terminal.write(`${harmless(Buffer.from(bytes).toString())}\n`);
}
