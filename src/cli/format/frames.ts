import type { TailedFrame } from "../../library/tail.ts";
import type { Terminal } from "../terminal.ts";
import { harmless, oneLine } from "./text.ts";

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
