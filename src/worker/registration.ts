import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { RegisterWorkerRequest } from "../contract/workers.ts";
import { backoff } from "./backoff.ts";
import type { Logger } from "./logger.ts";

const TTL_MS = 30_000;
/** How many times in a row it is left to claims to say that the worker is there. */
const MOST_SPARED = 5;

export interface RegistrationOptions {
	backend: Backend;
	clock: Clock;
	log: Logger;
	instanceId: string;
	/** Whether a claim is out just now. */
	isClaiming: () => boolean;
	/** What the worker offers; asked for when it starts. */
	offer: () => Omit<RegisterWorkerRequest, "ttlMs">;
}

/**
 * Keeps a worker in the registry. Work goes on without it: a registry that cannot be reached is tried again, and never
 * stops the worker. A claim that waits is a sign of life too, so while one does nothing else is said; but a claim only
 * keeps what is there. After one that failed, and now and then in any case, the worker registers anew: it may have been
 * forgotten.
 */
export class Registration {
	readonly #options: RegistrationOptions;
	#request: RegisterWorkerRequest | undefined;
	#failures = 0;
	#spared = 0;
	#disarm: () => void = () => {};
	#beating: Promise<void> = Promise.resolve();

	constructor(options: RegistrationOptions) {
		this.#options = options;
	}

	/** Throws what no repetition would mend: an offer that is not valid. */
	async start(): Promise<void> {
		this.#request = { ...this.#options.offer(), ttlMs: TTL_MS };
		try {
			await this.#register();
		} catch (error) {
			if (error instanceof FlowFabricError && error.code === "invalid_input") throw error;
			this.#failed(error);
		}
	}

	/** A claim failed: whoever answers the next may not know of this worker. */
	doubt(): void {
		this.#spared = MOST_SPARED;
	}

	/** Leaves the registry; if that fails, its entry lapses by itself. */
	async stop(): Promise<void> {
		const namespace = this.#request?.namespace;
		if (!this.#request) return;
		this.#request = undefined;
		this.#disarm();
		await this.#beating;
		const { backend, instanceId, log } = this.#options;
		try {
			await backend.workers.remove(instanceId, namespace === undefined ? {} : { namespace });
		} catch (error) {
			log.warn(`unregistering failed; the entry will expire: ${String(error)}`);
		}
	}

	async #register(): Promise<void> {
		const { backend, instanceId } = this.#options;
		if (!this.#request) return;
		await backend.workers.register(instanceId, this.#request);
		this.#heard();
	}

	#heard(): void {
		this.#failures = 0;
		this.#spared = 0;
		this.#beatIn(TTL_MS / 3);
	}

	#beat(): void {
		if (this.#failures === 0 && this.#spared < MOST_SPARED && this.#options.isClaiming()) {
			this.#spared += 1;
			this.#beatIn(TTL_MS / 3);
		} else this.#beating = this.#register().catch((error) => this.#failed(error));
	}

	#failed(error: unknown): void {
		this.#options.log.warn(`registering failed and will be retried: ${String(error)}`);
		this.#beatIn(backoff(this.#failures++));
	}

	#beatIn(ms: number): void {
		this.#disarm();
		if (!this.#request) return;
		this.#disarm = this.#options.clock.setTimer(ms, () => this.#beat());
	}
}
