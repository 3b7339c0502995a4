import { readFileSync } from "node:fs";
import { Command, type RedisOptions } from "iovalkey";
import { Connection } from "./connection.ts";
import { isHopeless, NotConnected } from "./fault.ts";
import type { HostAndPort, ValkeyUrl } from "./url.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** A server that says nothing for so long while it owes an answer is taken to be gone. */
const CALL_TIMEOUT_MS = 5000;
const KEEP_ALIVE_MS = 10_000;
const RECONNECT_MIN_MS = 20;
const RECONNECT_MAX_MS = 2000;

/** A command and its arguments, or both as the bytes to be sent. */
export type Call = readonly [name: string, ...args: (string | Buffer)[]] | Buffer;

/** A call whose bytes are made already. */
class PreparedCommand extends Command {
	readonly #bytes: Buffer;

	constructor(bytes: Buffer) {
		super("fcall", [], { replyEncoding: "utf8" });
		this.#bytes = bytes;
	}

	override toWritable(): Buffer {
		return this.#bytes;
	}
}

/**
 * How to connect to a server. Nothing is queued while there is no connection and nothing is sent again by the driver:
 * whoever calls must know whether a call was sent.
 */
export function connectionOptions(url: ValkeyUrl, { host, port }: HostAndPort): RedisOptions {
	const { tls, username, password, database } = url;
	return {
		host,
		port,
		...(username === undefined ? undefined : { username }),
		...(password === undefined ? undefined : { password }),
		db: database,
		...(tls ? { tls: filesOf(tls) } : undefined),
		lazyConnect: true,
		connectTimeout: CONNECT_TIMEOUT_MS,
		socketTimeout: CALL_TIMEOUT_MS,
		keepAlive: KEEP_ALIVE_MS,
		enableOfflineQueue: false,
		autoResendUnfulfilledCommands: false,
		maxRetriesPerRequest: 0,
		retryStrategy: (tries) => Math.min(RECONNECT_MAX_MS, RECONNECT_MIN_MS * 2 ** Math.min(tries, 10)) * Math.random(),
	};
}

function filesOf(tls: NonNullable<ValkeyUrl["tls"]>): Record<string, Buffer> {
	return Object.fromEntries(Object.entries(tls).map(([name, path]) => [name, readFileSync(path as string)]));
}

function commandOf(call: Call, bytes: boolean): Command {
	if (Buffer.isBuffer(call)) return new PreparedCommand(call);
	const [name, ...args] = call;
	return new Command(name, args, bytes ? {} : { replyEncoding: "utf8" });
}

export const addressOf = ({ host, port }: HostAndPort): string => `${host}:${port}`;

/** One server and the one connection all calls to it share, in order; it is made again whenever it breaks. */
export class Node {
	readonly at: HostAndPort;
	readonly address: string;
	/** When a redirection last named it. */
	wantedAt = Number.NEGATIVE_INFINITY;
	readonly #client: Connection;
	#waiting: ((ready: boolean) => void)[] = [];
	#lastError: unknown;
	#wasConnected = false;

	constructor(url: ValkeyUrl, at: HostAndPort, onReturn: () => void) {
		this.at = at;
		this.address = addressOf(at);
		this.#client = new Connection(connectionOptions(url, at));
		this.#client.on("ready", () => {
			this.#lastError = undefined;
			if (this.#wasConnected) onReturn();
			this.#wasConnected = true;
			this.#wake(true);
		});
		// Calls in flight tell of a lost connection themselves; without a listener it would end the process.
		this.#client.on("error", (error: unknown) => {
			this.#lastError = error;
			if (isHopeless(error)) this.#wake(false);
		});
		this.#client.connect().catch(() => {});
	}

	get isConnected(): boolean {
		return this.#client.status === "ready";
	}

	/** Why there is no connection, as far as known. */
	get lastError(): unknown {
		return this.#lastError;
	}

	/** Waits for a connection; false when there is none in time, or none can be had with this user and password. */
	async connected(ms: number): Promise<boolean> {
		if (this.isConnected) return true;
		if (isHopeless(this.#lastError)) return false;
		return new Promise((resolve) => {
			const timer = setTimeout(() => {
				this.#waiting = this.#waiting.filter((other) => other !== wake);
				resolve(false);
			}, ms);
			const wake = (ready: boolean): void => {
				clearTimeout(timer);
				resolve(ready);
			};
			this.#waiting.push(wake);
		});
	}

	/** Answers as text, or as bytes when asked. */
	send(call: Call, bytes = false): Promise<unknown> {
		if (!this.isConnected) return Promise.reject(new NotConnected(`not connected to ${this.address}`));
		this.#gather();
		return this.#client.sendCommand(commandOf(call, bytes)) as Promise<unknown>;
	}

	/** What is sent in one turn leaves with one write. */
	#gather(): void {
		const { stream } = this.#client;
		if (!stream || stream.writableCorked > 0) return;
		stream.cork();
		process.nextTick(() => stream.uncork());
	}

	/** A call to this very server, connected or not yet. */
	async ask(call: Call): Promise<unknown> {
		if (!(await this.connected(CONNECT_TIMEOUT_MS)) && isHopeless(this.#lastError)) throw this.#lastError;
		return this.send(call);
	}

	/** A call for a slot that is on its way to this server. */
	async sendAsked(call: Call, bytes = false): Promise<unknown> {
		const asked = this.send(["ASKING"]);
		const answer = this.send(call, bytes);
		await asked.catch(() => {});
		return answer;
	}

	/** Lets go of the connection and makes a new one: the name may lead to another server by now. */
	reconnect(): void {
		this.#client.disconnect(true);
	}

	close(): void {
		this.#client.disconnect();
		this.#wake(false);
	}

	#wake(ready: boolean): void {
		for (const wake of this.#waiting.splice(0)) wake(ready);
	}
}
