import type { TailedFrame } from "../../library/tail.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./table.ts";

/** Shows frames as they come: text runs on as it was written, everything else has a line of its own. */
export class FramePrinter {
	readonly #terminal: Terminal;
	#isInLine = false;

	constructor(terminal: Terminal) {
		this.#terminal = terminal;
	}

	show(frame: TailedFrame): void {
		if (frame.isNewAttempt) this.#line(this.#terminal.style("bold", `--- attempt ${frame.attempt} ---`));
		if (frame.type === "text" && frame.text !== undefined) return this.#write(frame.text);
		this.#line(`${this.#terminal.style("dim", `[${oneLine(frame.type)}]`)} ${contentOf(frame)}`);
	}

	/** Ends a line that was begun. */
	end(): void {
		if (this.#isInLine) this.#terminal.print();
		this.#isInLine = false;
	}

	#write(text: string): void {
		if (text === "") return;
		this.#terminal.write(this.#terminal.isTTY ? harmless(text) : text);
		this.#isInLine = !text.endsWith("\n");
	}

	#line(text: string): void {
		this.end();
		this.#terminal.print(text);
	}
}

function contentOf({ text, payloadBase64, patch }: TailedFrame): string {
	if (text !== undefined) return oneLine(text);
	if (payloadBase64 !== undefined) return `${Buffer.byteLength(payloadBase64, "base64")} bytes`;
	return oneLine(JSON.stringify(patch));
}

/** What a handler wrote must not move the cursor, colour the screen or turn the direction of what comes after it. */
function harmless(text: string): string {
	return (
		text
			.replaceAll("\r\n", "\n")
			// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
			.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, escaped)
	);
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
