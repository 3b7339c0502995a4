/** What asks for one. */
export const EVENT_STREAM: Record<string, string> = { accept: "text/event-stream" };

/** An event of a stream, as it came. */
export interface StreamEvent {
	type: string;
	data: string;
	id: string | undefined;
}

/** Cuts a stream of bytes into events. Comments and fields that are not known are passed over. */
export class SseReader {
	readonly #decoder = new TextDecoder();
	readonly #listener: (event: StreamEvent) => void;
	#text = "";
	#lastId: string | undefined;

	constructor(listener: (event: StreamEvent) => void) {
		this.#listener = listener;
	}

	/** The last id that came, also one without an event. */
	get lastId(): string | undefined {
		return this.#lastId;
	}

	push(chunk: Buffer): void {
		this.#text += this.#decoder.decode(chunk, { stream: true });
		for (;;) {
			const end = this.#text.indexOf("\n\n");
			if (end === -1) return;
			const block = this.#text.slice(0, end);
			this.#text = this.#text.slice(end + 2);
			this.#read(block);
		}
	}

	#read(block: string): void {
		let type = "message";
		let id: string | undefined;
		const data: string[] = [];
		for (const line of block.split("\n")) {
			const colon = line.indexOf(":");
			if (colon <= 0) continue;
			const value = line.slice(colon + 1).replace(/^ /, "");
			const field = line.slice(0, colon);
			if (field === "event") type = value;
			else if (field === "data") data.push(value);
			else if (field === "id") id = value;
		}
		this.#lastId = id ?? this.#lastId;
		if (data.length > 0) this.#listener({ type, data: data.join("\n"), id });
	}
}
