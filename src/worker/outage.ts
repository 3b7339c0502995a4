import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { Logger } from "./logger.ts";

/** What a worker asks for again and again. */
type Asked = "claiming" | "registering" | "renewing leases";

/**
 * Says once that the server or its store does not answer, and once that it does again, however often it is asked in
 * between. Another kind of trouble is said once more.
 */
export class Outage {
	readonly #clock: Clock;
	readonly #log: Logger;
	readonly #failing = new Set<Asked>();
	readonly #told = new Set<string>();
	#since = 0;
	#who = "";

	constructor(clock: Clock, log: Logger) {
		this.#clock = clock;
		this.#log = log;
	}

	failed(asked: Asked, error: unknown): void {
		if (this.#told.size === 0) this.#since = this.#clock.monotonic();
		this.#failing.add(asked);
		const code = error instanceof FlowFabricError ? error.code : String(error);
		if (this.#told.has(code)) return;
		this.#told.add(code);
		const who = whoFailed(error);
		if (this.#who === "") this.#who = who ?? "the server";
		const why = error instanceof Error ? error.message : String(error);
		if (who === undefined) this.#log.warn(`${asked} failed: ${why}; trying again`);
		else this.#log.warn(`${who} does not answer (${why}); trying again until it does`);
	}

	answered(asked: Asked): void {
		if (this.#told.size === 0) return;
		this.#failing.delete(asked);
		// Leases are renewed only while there are some: whoever hears anything else is heard again.
		this.#failing.delete("renewing leases");
		// A server that answers anything is there; a store may answer one question and not another.
		if (this.#failing.size > 0 && !this.#told.has("unreachable")) return;
		this.#failing.clear();
		const seconds = Math.max(1, Math.round((this.#clock.monotonic() - this.#since) / 1000));
		this.#log.warn(`${this.#who} answers again after ${seconds} s`);
		this.#told.clear();
		this.#who = "";
	}
}

/** Who does not answer; undefined when somebody did, and refused. */
function whoFailed(error: unknown): string | undefined {
	if (!(error instanceof FlowFabricError) || !error.retryable) return undefined;
	const { server } = error.details;
	if (typeof server === "string") return `the server at ${server}`;
	return error.code === "store_unavailable" ? "the store" : "the server";
}
