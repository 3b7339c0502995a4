import { FlowFabricError } from "../contract/errors.ts";

/** How many requests a token may send. */
export interface RateLimit {
	requestsPerSecond: number;
	/** How many may come at once after a pause. */
	requestBurst: number;
}

/** What an operator may set: `requestBurst` says nothing without a rate. */
export type GivenRate = { [N in keyof RateLimit]?: number | undefined };

export const MAX_RATE = 1_000_000;

/** A token's own limit, else the one for all; undefined for none. */
export function limitOf(own: GivenRate, forAll: GivenRate): RateLimit | undefined {
	const { requestsPerSecond, requestBurst } = own.requestsPerSecond === undefined ? forAll : own;
	if (requestsPerSecond === undefined) return undefined;
	const burst = own.requestBurst ?? requestBurst;
	return { requestsPerSecond, requestBurst: burst ?? Math.min(MAX_RATE, 2 * requestsPerSecond) };
}

/**
 * Counts the requests of one token: a bucket of `requestBurst` that fills up again by `requestsPerSecond`. A refused request
 * takes nothing out of it. It holds one more within a second, so `Retry-After: 1` is never said in vain.
 */
export class RequestRate {
	readonly #limit: RateLimit;
	/** Milliseconds that only grow. */
	readonly #now: () => number;
	#left: number;
	#at: number;

	constructor(limit: RateLimit, now: () => number) {
		this.#limit = limit;
		this.#now = now;
		this.#left = limit.requestBurst;
		this.#at = now();
	}

	/** Whether another request may come; it is counted then. */
	take(): boolean {
		const { requestsPerSecond, requestBurst } = this.#limit;
		const now = this.#now();
		this.#left = Math.min(requestBurst, this.#left + ((now - this.#at) * requestsPerSecond) / 1000);
		this.#at = now;
		if (this.#left < 1) return false;
		this.#left -= 1;
		return true;
	}

	refusal(name: string): FlowFabricError {
		const { requestsPerSecond, requestBurst } = this.#limit;
		return new FlowFabricError("too_many_requests", {
			message: `${name} may send ${requestsPerSecond} requests per second, ${requestBurst} at once`,
			details: { requestsPerSecond, requestBurst },
		});
	}
}
