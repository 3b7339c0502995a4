import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { RegisterWorkerRequest } from "../contract/workers.ts";
import { backoff } from "./backoff.ts";
import type { Logger } from "./logger.ts";
import type { Outage } from "./outage.ts";

const TTL_MS = 30_000;
/** How many times in a row it is left to claims to say that the worker is there. */
const MOST_SPARED = 5;
/** A worker that stops waits this long to be let out of the registry: without that its entry lapses. */
const LEAVING_MS = 500;

export interface RegistrationOptions {
	backend: Backend;
	clock: Clock;
	log: Logger;
	/** Says once that nobody answers. */
	outage: Outage;
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
	/** A beat is due or on its way because nobody answered. */
	#isSoon = false;
	#disarm: () => void = () => {};
	#beating: Promise<void> = Promise.resolve();
	/** Aborted when nothing more is to be said of the worker. */
	readonly #over = new AbortController();

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

	/** Nobody answers: whoever does again is told of this worker at once. */
	beatSoon(): void {
		this.doubt();
		if (this.#isSoon) return;
		this.#isSoon = true;
		this.#beatIn(backoff(0));
	}

	/** Leaves the registry; if that fails, or takes long, its entry lapses by itself. */
	async stop(): Promise<void> {
		const namespace = this.#request?.namespace;
		if (!this.#request) return;
		this.#request = undefined;
		this.#disarm();
		this.#over.abort();
		await this.#beating;
		const { backend, instanceId, log, clock } = this.#options;
		const patience = new AbortController();
		let giveUp = () => {};
		const tooLate = new Promise<never>((_, reject) => {
			giveUp = () => reject(new Error(`no answer within ${LEAVING_MS} ms`));
		});
		const disarm = clock.setTimer(LEAVING_MS, () => {
			giveUp();
			patience.abort();
		});
		try {
			const place = namespace === undefined ? {} : { namespace };
			await Promise.race([backend.workers.remove(instanceId, place, patience.signal), tooLate]);
		} catch (error) {
			log.warn(`unregistering failed, the entry will lapse: ${String(error)}`);
		} finally {
			disarm();
		}
	}

	async #register(): Promise<void> {
		const { backend, instanceId } = this.#options;
		if (!this.#request) return;
		await untilAborted(backend.workers.register(instanceId, this.#request, this.#over.signal), this.#over.signal);
		this.#options.outage.answered("registering");
		this.#heard();
	}

	#heard(): void {
		this.#isSoon = false;
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
		if (this.#over.signal.aborted) return;
		this.#options.outage.failed("registering", error);
		this.#beatIn(backoff(this.#failures++));
	}

	#beatIn(ms: number): void {
		this.#disarm();
		if (!this.#request) return;
		this.#disarm = this.#options.clock.setTimer(ms, () => this.#beat());
	}
}

/** A call that nobody waits for any longer once the signal aborts. */
async function untilAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
	let leave = () => {};
	const aborted = new Promise<never>((_, reject) => {
		leave = () => reject(signal.reason);
		signal.addEventListener("abort", leave);
	});
	try {
		return await Promise.race([call, aborted]);
	} finally {
		signal.removeEventListener("abort", leave);
	}
}
