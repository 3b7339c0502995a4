import { Redis } from "iovalkey";
import { median } from "../limits/sqlite-writes.ts";
import { payload } from "../target.ts";
import type { BenchServer } from "./bench-server.ts";

const BARE = `#!lua name=bench
redis.register_function('bench_write', function(keys, args) return redis.call('SET', keys[1], args[1]) end)`;

/** Calls of a function that does one SET, on a connection of their own. */
export class BareWrites {
	readonly #client: Redis;
	readonly #warmUp: number;
	readonly #times: number[] = [];

	private constructor(client: Redis, warmUp: number) {
		this.#client = client;
		this.#warmUp = warmUp;
	}

	static async open({ url }: BenchServer, warmUp: number): Promise<BareWrites> {
		const client = new Redis(url);
		await client.call("FUNCTION", "LOAD", "REPLACE", BARE);
		return new BareWrites(client, warmUp);
	}

	async write(n: number): Promise<void> {
		const startedAt = performance.now();
		await this.#client.call("FCALL", "bench_write", "1", `bare:${n}`, JSON.stringify(payload(n)));
		if (n >= this.#warmUp) this.#times.push(performance.now() - startedAt);
	}

	/** The median of all but the warm-up. */
	close(): number {
		this.#client.disconnect();
		return median(this.#times);
	}
}
