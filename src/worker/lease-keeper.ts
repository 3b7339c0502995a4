import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import type { Job } from "./job.ts";
import type { Logger } from "./logger.ts";

const RENEWALS_PER_CALL = 1000;

export interface LeaseKeeperOptions {
	backend: Backend;
	clock: Clock;
	leaseMs: number;
	log: Logger;
	/** What is held now. */
	jobs: () => Iterable<Job>;
}

/**
 * Renews all leases together at a third of their time, and gives up those that could not be renewed for the whole of it:
 * by then they may be another's. A renewal that hangs holds up neither.
 */
export class LeaseKeeper {
	readonly #options: LeaseKeeperOptions;
	#renewing = false;
	#disarm: () => void = () => {};
	#disarmExpiry: () => void = () => {};

	constructor(options: LeaseKeeperOptions) {
		this.#options = options;
	}

	start(): void {
		const { clock, leaseMs } = this.#options;
		this.#disarm = clock.setTimer(leaseMs / 3, () => {
			this.start();
			void this.#renew();
			this.#watchExpiry();
		});
	}

	stop(): void {
		this.#disarm();
		this.#disarmExpiry();
	}

	/** While renewals come through, no lease runs out before the next round and no timer is needed here. */
	#watchExpiry(): void {
		const { clock, leaseMs, jobs } = this.#options;
		this.#disarmExpiry();
		let soonest = Number.POSITIVE_INFINITY;
		for (const job of jobs()) {
			job.checkExpiry();
			if (!job.lost) soonest = Math.min(soonest, job.expiresAt);
		}
		const left = soonest - clock.monotonic();
		if (left < leaseMs / 3) this.#disarmExpiry = clock.setTimer(left, () => this.#watchExpiry());
	}

	async #renew(): Promise<void> {
		if (this.#renewing) return;
		this.#renewing = true;
		try {
			const jobs = [...this.#options.jobs()];
			for (let from = 0; from < jobs.length; from += RENEWALS_PER_CALL) {
				await this.#renewSome(jobs.slice(from, from + RENEWALS_PER_CALL));
			}
		} finally {
			this.#renewing = false;
		}
	}

	async #renewSome(jobs: readonly Job[]): Promise<void> {
		const { backend, clock, leaseMs, log } = this.#options;
		const askedAt = clock.monotonic();
		try {
			const leases = jobs.map((job) => ({ executionId: job.id, ...job.fence }));
			const answers = await backend.leases.renew({ leases, leaseMs });
			answers.forEach((answer, n) => {
				jobs[n]?.renewed(answer, askedAt);
			});
		} catch (error) {
			log.warn(`leases could not be renewed: ${String(error)}`);
		}
	}
}
