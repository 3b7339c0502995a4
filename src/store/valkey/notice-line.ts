import { randomUUID } from "node:crypto";
import { Redis } from "iovalkey";
import { addressOf, type Call, connectionOptions } from "./node.ts";
import type { Servers } from "./servers.ts";

const PING_MS = 10_000;
const PAUSE_MS = 200;

/** One connection's life. */
interface Line {
	ended: Promise<void>;
}

/**
 * A connection that only hears notices. A cluster hands what is published on one node to all others, so any node will
 * do. When it breaks another is made, perhaps to another node; what was published meanwhile is lost, and that is told.
 */
export class NoticeLine {
	readonly channel: string;
	/** Heard here and nowhere else, so that a server can tell whether anybody else listens. */
	readonly ownChannel: string;
	/** What engines say to each other. */
	readonly #saidChannel: string;
	onMessage: (message: string) => void = () => {};
	onSaid: (text: string) => void = () => {};
	/** Notices may have been lost. */
	onGap: () => void = () => {};
	readonly #servers: Servers;
	#client: Redis | undefined;
	#closed = false;
	#heardBefore = false;

	constructor(servers: Servers, prefix: string) {
		this.#servers = servers;
		this.channel = `${prefix}notices`;
		this.ownChannel = `${this.channel}:${randomUUID()}`;
		this.#saidChannel = `${this.channel}:said`;
	}

	/** A call that says something to all who listen, on whichever node. */
	saying(text: string): Call {
		return ["PUBLISH", this.#saidChannel, text];
	}

	/** Hears from now on. */
	async open(): Promise<void> {
		void this.#keepHearing(await this.#hear());
	}

	close(): void {
		this.#closed = true;
		this.#client?.disconnect();
	}

	async #keepHearing(line: Line): Promise<void> {
		for (let current: Line | undefined = line; !this.#closed; ) {
			await current?.ended;
			if (this.#closed) return;
			current = await this.#hear().catch(() => undefined);
			if (!current) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
		}
	}

	/** Subscribes on some node. */
	async #hear(): Promise<Line> {
		const [node] = this.#servers.nodes;
		if (!node) throw new Error("no server is known");
		const client = new Redis({
			...connectionOptions(this.#servers.url, node.at),
			retryStrategy: () => null,
			connectionName: `flowfabric notices of ${addressOf(node.at)}`,
		});
		this.#client = client;
		client.on("error", () => {});
		client.on("message", (channel: string, message: string) =>
			channel === this.#saidChannel ? this.onSaid(message) : this.onMessage(message),
		);
		const ended = new Promise<void>((resolve) => client.once("end", resolve));
		try {
			await client.connect();
			await client.subscribe(this.channel, this.ownChannel, this.#saidChannel);
		} catch (error) {
			client.disconnect();
			throw error;
		}
		if (this.#closed) client.disconnect();
		// An unanswered ping makes the driver give the connection up: a dead line must not pass for a quiet one.
		const pings = setInterval(() => client.ping().catch(() => {}), PING_MS);
		void ended.then(() => clearInterval(pings));
		if (this.#heardBefore) this.onGap();
		this.#heardBefore = true;
		return { ended };
	}
}
