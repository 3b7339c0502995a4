import type { FastifyReply } from "fastify";
import { errorBody, FlowFabricError } from "../contract/errors.ts";

/** Unsent bytes after which a reader counts as stuck and is let go; it comes back and reads on from where it was. */
const MAX_UNSENT = 1024 * 1024;
/** Characters that go out together: a write costs as much as dozens of small events. */
const CHARS_PER_WRITE = 32 * 1024;

/** One event stream to one reader. The last event, `close`, says why it ended; a comment now and then keeps it alive. */
export class Tail {
	readonly #reply: FastifyReply;
	readonly #tails: Set<Tail>;
	readonly #controller = new AbortController();
	#ended = false;

	/** `position` is where it begins: a reader that comes back before its first event names that. */
	constructor(reply: FastifyReply, tails: Set<Tail>, position?: string) {
		this.#reply = reply;
		this.#tails = tails;
		reply.hijack();
		reply.raw.once("close", () => this.#over());
		reply.raw.writeHead(200, {
			...(reply.getHeaders() as Record<string, string>),
			"content-type": "text/event-stream; charset=utf-8",
			"cache-control": "no-store, no-transform",
			// A proxy that gathers would hold back what is to be seen at once.
			"x-accel-buffering": "no",
		});
		reply.raw.write(`: open\n${position === undefined ? "" : `id: ${position}\n`}\n`);
		tails.add(this);
		if (reply.raw.destroyed) this.#over();
	}

	/** Aborts when the reader is gone or the tail was ended. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	send(type: string, data: unknown, id?: string): void {
		if (!this.#ended) this.#write(eventText(type, data, id));
	}

	/** Many events, at the reader's pace; whoever else has something to do is let in between. */
	async sendAll(type: string, events: readonly { id: string }[]): Promise<void> {
		let text = "";
		for (const event of events) {
			text += eventText(type, event, event.id);
			if (text.length < CHARS_PER_WRITE) continue;
			await this.#sendText(text);
			text = "";
			await new Promise(setImmediate);
		}
		await this.#sendText(text);
	}

	async #sendText(text: string): Promise<void> {
		if (this.#ended || text === "") return;
		this.#write(text);
		await this.drained();
	}

	beat(): void {
		if (!this.#ended) this.#write(": heartbeat\n\n");
	}

	/** Waits until the reader has taken what was sent, so that a slow one holds back the source and not memory. */
	async drained(): Promise<void> {
		const { raw } = this.#reply;
		if (this.#ended || !raw.writableNeedDrain) return;
		await new Promise<void>((resolve) => {
			const go = () => {
				raw.off("drain", go);
				raw.off("close", go);
				resolve();
			};
			raw.once("drain", go);
			raw.once("close", go);
		});
	}

	/** There is no more to come; what was sent still arrives. */
	finish(): void {
		if (this.#ended) return;
		this.#reply.raw.end();
		this.#over();
	}

	/** Makes room for a tenant that has less; the reader comes back when there is room again. */
	yieldPlace(): void {
		this.end(new FlowFabricError("too_many_requests", { message: "others need the place of this stream" }));
	}

	end(why: FlowFabricError): void {
		if (this.#ended) return;
		this.send("close", errorBody(why));
		this.#reply.raw.end();
		this.#over();
	}

	#write(text: string): void {
		const { raw } = this.#reply;
		raw.write(text);
		if (raw.writableLength > MAX_UNSENT) raw.destroy();
	}

	#over(): void {
		if (this.#ended) return;
		this.#ended = true;
		this.#tails.delete(this);
		this.#controller.abort();
	}
}

const eventText = (type: string, data: unknown, id: string | undefined): string =>
	`${id === undefined ? "" : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
