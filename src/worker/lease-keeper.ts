import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import type { Job } from "./job.ts";
import type { Outage } from "./outage.ts";

const RENEWALS_PER_CALL = 1000;

export interface LeaseKeeperOptions {
	backend: Backend;
	clock: Clock;
	leaseMs: number;
	/** Says once that nobody answers. */
	outage: Outage;
	/** What is held now. */
	jobs: () => Iterable<Job>;
}

/** A call on its way that asks for these leases. */
interface Call {
	jobs: readonly Job[];
	alone: boolean;
}

/**
 * Renews all leases together at a third of their time, and gives up those that could not be renewed for the whole of it:
 * by then they may be another's.
 *
 * One partition that does not answer must not cost the leases of the others: those of a call that has not been answered
 * by the next round are asked for again, each alone, until it is. An answer that comes late still counts.
 */
export class LeaseKeeper {
	readonly #options: LeaseKeeperOptions;
	/** The latest call for each lease that is still unanswered. */
	readonly #asking = new Map<Job, Call>();
	#disarm: () => void = () => {};
	#disarmExpiry: () => void = () => {};

	constructor(options: LeaseKeeperOptions) {
		this.#options = options;
	}

	start(): void {
		const { clock, leaseMs } = this.#options;
		this.#disarm = clock.setTimer(leaseMs / 3, () => {
			this.start();
			this.renew();
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

	/** Asks for every lease now. The answers also tell of cancels and losses whose notices did not come through. */
	renew(): void {
		const together: Job[] = [];
		for (const job of this.#options.jobs()) {
			const asked = this.#asking.get(job);
			if (!asked) together.push(job);
			else if (!asked.alone) void this.#ask({ jobs: [job], alone: true });
		}
		for (let from = 0; from < together.length; from += RENEWALS_PER_CALL) {
			void this.#ask({ jobs: together.slice(from, from + RENEWALS_PER_CALL), alone: false });
		}
	}

	async #ask(call: Call): Promise<void> {
		const { backend, clock, leaseMs, outage } = this.#options;
		const { jobs } = call;
		for (const job of jobs) this.#asking.set(job, call);
		const askedAt = clock.monotonic();
		try {
			const leases = jobs.map((job) => ({ executionId: job.id, ...job.fence }));
			const answers = await backend.leases.renew({ leases, leaseMs });
			outage.answered("renewing leases");
			answers.forEach((answer, n) => {
				jobs[n]?.renewed(answer, askedAt);
			});
		} catch (error) {
			outage.failed("renewing leases", error);
		} finally {
			for (const job of jobs) if (this.#asking.get(job) === call) this.#asking.delete(job);
		}
	}
}
