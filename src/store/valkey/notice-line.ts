import { randomUUID } from "node:crypto";
import { Connection } from "./connection.ts";
import { addressOf, type Call, connectionOptions } from "./node.ts";
import type { Servers } from "./servers.ts";

const PROBE_MS = 10_000;
const PAUSE_MS = 200;
/** What a probe says concerns no key. */
const ANY_SLOT = 0;

/** One connection's life. */
interface Line {
	ended: Promise<void>;
}

/**
 * A connection that only hears notices. A cluster hands what is published on one node to all others, so any node will
 * do. When it breaks another is made, perhaps to another node; what was published meanwhile is lost, and that is told.
 * It may also be whole and lead to a server that others have left: now and then something is said where commits go, and
 * what is not heard here ends the line.
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
	readonly #probeMs: number;
	#client: Connection | undefined;
	#closed = false;
	#heardBefore = false;

	constructor(servers: Servers, prefix: string, probeMs = PROBE_MS) {
		this.#servers = servers;
		this.#probeMs = probeMs;
		// Channels know no databases, stores do.
		this.channel = `${prefix}notices:${servers.url.database}`;
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

	/** Subscribes on some node that has slots, or, as long as none is known, on any. */
	async #hear(): Promise<Line> {
		const { primaries, nodes } = this.#servers;
		const node = primaries.find(({ isConnected }) => isConnected) ?? nodes[0];
		if (!node) throw new Error("no server is known");
		const client = new Connection({
			...connectionOptions(this.#servers.url, node.at),
			retryStrategy: () => null,
			connectionName: `flowfabric notices of ${addressOf(node.at)}`,
		});
		this.#client = client;
		client.on("error", () => {});
		let heard = 0;
		client.on("message", (channel: string, message: string) => {
			if (channel === this.ownChannel) heard = Number(message);
			else if (channel === this.#saidChannel) this.onSaid(message);
			else this.onMessage(message);
		});
		const ended = new Promise<void>((resolve) => client.once("end", resolve));
		try {
			await client.connect();
			await client.subscribe(this.channel, this.ownChannel, this.#saidChannel);
		} catch (error) {
			client.disconnect();
			throw error;
		}
		if (this.#closed) client.disconnect();
		let said = 0;
		const probe = async (): Promise<void> => {
			// An unanswered ping makes the driver give the connection up: a dead line must not pass for a quiet one.
			client.ping().catch(() => {});
			if (heard < said || !(await this.#isCounted())) return client.disconnect();
			const next = said + 1;
			await this.#servers.call(ANY_SLOT, ["PUBLISH", this.ownChannel, String(next)]);
			said = next;
		};
		const probes = setInterval(() => probe().catch(() => {}), this.#probeMs);
		void ended.then(() => clearInterval(probes));
		if (this.#heardBefore) this.onGap();
		this.#heardBefore = true;
		return { ended };
	}

	/**
	 * Whether the server that commits go to knows of this line. After a switch of servers behind one name the line may
	 * still be to the former one, which hears all that is said; but who believes to be alone says nothing.
	 */
	async #isCounted(): Promise<boolean> {
		if (this.#servers.url.cluster) return true;
		const answer = await this.#servers.call(ANY_SLOT, ["PUBSUB", "NUMSUB", this.ownChannel]);
		return (answer as [string, number])[1] > 0;
	}
}
