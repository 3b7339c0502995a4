import type { Pool } from "undici";
import { FlowFabricError } from "../contract/errors.ts";
import { type ConnectOptions, placeOf } from "./options.ts";
import { newPool } from "./undici.ts";

/** One server and the connections to it. */
export interface Server {
	url: string;
	/** What its paths begin with. */
	prefix: string;
	calls: Pool;
	/** Calls that wait have a connection each, or they would hold up the others. */
	waits: Pool;
}

const CONNECT_MS = 10_000;
/** With another server to go on with, nobody waits that long for one. */
const CONNECT_MS_OF_SEVERAL = 2000;
const MAX_SERVERS = 32;

/** Servers of one store. One of them is asked, until it does not answer; then the next. */
export class Servers {
	readonly #all: readonly Server[];
	#current = 0;

	constructor(urls: string | readonly string[], { connections = 16 }: ConnectOptions, timeoutMs: number) {
		const given = typeof urls === "string" ? [urls] : urls;
		if (!Array.isArray(given) || given.length === 0 || given.length > MAX_SERVERS) {
			throw new FlowFabricError("invalid_input", {
				message: `url: must be the address of a server, or an array of 1 to ${MAX_SERVERS} of them`,
				details: { field: "url" },
			});
		}
		const longest = given.length > 1 ? CONNECT_MS_OF_SEVERAL : CONNECT_MS;
		const connect = { timeout: Math.min(longest, timeoutMs) };
		this.#all = given.map((url) => {
			const { origin, prefix } = placeOf(url);
			return {
				url: origin + prefix,
				prefix,
				calls: newPool(origin, { connections, connect }),
				waits: newPool(origin, { connections: null, connect }),
			};
		});
	}

	get count(): number {
		return this.#all.length;
	}

	get current(): Server {
		return this.#all[this.#current] as Server;
	}

	/** Goes on with the next, unless another call that met the same has done so. */
	leave(server: Server): void {
		if (this.current === server) this.#current = (this.#current + 1) % this.#all.length;
	}

	/** Calls under way are answered; what waits is called off. */
	async close(): Promise<void> {
		await Promise.all(this.#all.flatMap(({ calls, waits }) => [calls.close(), waits.destroy()]));
	}
}
