import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import type { ClaimedExecution } from "../contract/replies.ts";
import { type ClaimRequest, MAX_CLAIM, MAX_CLAIM_WAIT_MS } from "../contract/worker-protocol.ts";
import { backoff } from "./backoff.ts";
import type { Outage } from "./outage.ts";
import { pause } from "./pause.ts";
import type { Registration } from "./registration.ts";

const HASTY_MS = 10;
/**
 * Claims that are out at a time, each for its part of the room: while one is answered, what the other brought is run and
 * told of. More of them bring less each (lifecycles on Valkey with 16 handlers: 1.4 × those with one, 1.1 × with four).
 */
const CLAIMS_OUT = 2;

export interface ClaimLoopOptions {
	backend: Backend;
	clock: Clock;
	/** Says once that nobody answers. */
	outage: Outage;
	registration: Registration;
	concurrency: number;
	/** What every claim asks for. */
	request: () => Omit<ClaimRequest, "max" | "waitMs">;
	/** Handlers that run now. */
	handling: () => number;
	/** Executions held now; more than `concurrency` while outcomes are on their way. */
	held: () => number;
	begin: (claimed: ClaimedExecution) => void;
	/** Gives up what came too late to be begun. */
	handBack: (claimed: ClaimedExecution) => Promise<void>;
}

/** Asks for work whenever there is room for it: a loop, and an assistant beside it for as long as that goes well. */
export class ClaimLoop {
	readonly #options: ClaimLoopOptions;
	#isRunning = false;
	/** Places kept for what claims that are out may bring. */
	#askedFor = 0;
	/** Aborted once, when claiming is over. */
	readonly #over = new AbortController();
	#loop: Promise<void> | undefined;
	#assistant: Promise<void> | undefined;
	/** Claims that wait for room before they are made. */
	#roomless = new Set<() => void>();
	readonly #how = {
		onUnanswered: (error: FlowFabricError) => {
			if (!this.#isRunning) return;
			this.#options.outage.failed("claiming", error);
			// A claim may be answered only when there is work; this is answered as soon as somebody is there.
			this.#options.registration.beatSoon();
		},
	};

	constructor(options: ClaimLoopOptions) {
		this.#options = options;
	}

	/** Whether a claim is out just now. */
	get isAsking(): boolean {
		return this.#askedFor > 0;
	}

	/** Shows a bad option at once, not in a loop that only logs it; a store that is away just now is no bad option. */
	async first(): Promise<ClaimedExecution[]> {
		try {
			return await this.#claim(0);
		} catch (error) {
			if (error instanceof FlowFabricError && error.retryable) {
				this.#options.outage.failed("claiming", error);
				return [];
			}
			throw error;
		}
	}

	start(): void {
		this.#isRunning = true;
		this.#loop = this.#run();
	}

	/** Calls off what is out; resolves when all that came nevertheless is handed back. */
	async stop(): Promise<void> {
		this.#isRunning = false;
		this.#over.abort();
		this.madeRoom();
		await this.#loop;
		await this.#assistant;
	}

	/** A handler or an execution is done with: whoever waits for room looks again. */
	madeRoom(): void {
		if (this.#roomless.size === 0) return;
		const roomless = this.#roomless;
		this.#roomless = new Set();
		for (const goOn of roomless) goOn();
	}

	async #run(): Promise<void> {
		for (let setbacks = 0; this.#isRunning; ) {
			setbacks = (await this.#claimAndBegin()) ? 0 : setbacks + 1;
			if (!this.#isRunning) return;
			if (setbacks > 0) await this.#setBack(setbacks);
			else if (this.#options.concurrency > 1) this.#assistant ??= this.#assist();
		}
	}

	/** Claims beside the loop for as long as that goes well; trouble is the loop's to wait out. */
	async #assist(): Promise<void> {
		while (this.#isRunning && (await this.#claimAndBegin()));
		this.#assistant = undefined;
	}

	/** Claims once there is room, and begins what comes; false when that is not to be repeated at once. */
	async #claimAndBegin(): Promise<boolean> {
		const { clock, outage, begin, handBack } = this.#options;
		while (this.#isRunning && this.#room() <= 0) await new Promise<void>((resolve) => this.#roomless.add(resolve));
		if (!this.#isRunning) return false;
		const askedAt = clock.monotonic();
		try {
			const brought = await this.#claim(MAX_CLAIM_WAIT_MS);
			if (this.#isRunning) outage.answered("claiming");
			if (this.#isRunning) for (const claimed of brought) begin(claimed);
			else await Promise.all(brought.map(handBack));
			// Handlers start before more is asked for; what ends at once is then told with that question.
			await undefined;
			// Nothing, and at once: whoever answers so is not waiting for work, and must not be asked in a circle.
			return brought.length > 0 || clock.monotonic() - askedAt >= HASTY_MS;
		} catch (error) {
			if (this.#isRunning) outage.failed("claiming", error);
			return false;
		}
	}

	async #setBack(setbacks: number): Promise<void> {
		const { over, end } = pause(this.#options.clock, backoff(setbacks - 1));
		this.#roomless.add(end);
		await over;
		this.#roomless.delete(end);
	}

	async #claim(waitMs: number): Promise<ClaimedExecution[]> {
		const { backend, registration, concurrency, request } = this.#options;
		const max = Math.min(MAX_CLAIM, this.#room(), Math.ceil(concurrency / CLAIMS_OUT));
		this.#askedFor += max;
		try {
			return await backend.leases.claim({ ...request(), max, waitMs }, this.#over.signal, this.#how);
		} catch (error) {
			registration.doubt();
			throw error;
		} finally {
			this.#askedFor -= max;
		}
	}

	/**
	 * A handler that has returned frees its place at once, so that the next claim and the outcome go out together; but
	 * when outcomes cannot be told, claiming stops before more is held than could be run.
	 */
	#room(): number {
		const { concurrency, handling, held } = this.#options;
		return Math.min(concurrency - handling(), 2 * concurrency - held()) - this.#askedFor;
	}
}
