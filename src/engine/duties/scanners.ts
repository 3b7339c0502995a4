import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { isWithin, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { RouteBlocker } from "../blocking/route-blocker.ts";
import type { FaultClass, FaultLog } from "../fault-log.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { DutyLog, Scanner } from "./duty-log.ts";
import { EventTrimmer } from "./event-trimmer.ts";
import { IndexReconciler } from "./index-reconciler.ts";
import type { DriftedEntry } from "./index-walk.ts";
import { Sweep } from "./sweep.ts";

export interface ScannersOptions {
	engineId: string;
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
	routes: RouteBlocker;
	duties: DutyLog;
	/** What all this is restricted to; left out when it is not. */
	scannerFilter: ScannerFilter | undefined;
	sweepMs?: number | undefined;
	/** The partitions that this engine runs timers of. */
	own(): readonly number[];
	now(): number;
	/** These partitions have changed since the last sweep. */
	onChanged(partitions: readonly number[]): void;
	/** The index of a partition was put right. */
	onMended(partition: number, entries: readonly DriftedEntry[]): void;
	faults: FaultLog;
}

/** What is done now and then, whether or not anything called for it. One that fails keeps no other from its turn. */
export class Scanners {
	readonly #options: ScannersOptions;
	readonly #sweep: Sweep;
	readonly #trimmer: EventTrimmer;
	readonly #index: IndexReconciler;
	#closed = false;

	constructor(options: ScannersOptions) {
		const { engineId, runners, kernel, clock, scannerFilter, sweepMs } = options;
		this.#options = options;
		this.#trimmer = new EventTrimmer(runners, kernel);
		this.#index = new IndexReconciler({
			engineId,
			runners,
			kernel,
			clock,
			// Of what is of no record nobody can say whose it was: anybody may take it out.
			isOurs: ({ key, record }) => !scannerFilter || !record || isWithin(scannerFilter, key, record),
			onMended: (partition, entries) => options.onMended(partition, entries),
			onReport: (mended) => options.faults.report("index entries were mended", undefined, mended, mended.length),
			onFailure: (about, error, subject) => this.failed("index_reconciler", about, error, subject),
		});
		this.#sweep = new Sweep({
			runners,
			clock,
			everyMs: sweepMs,
			onChanged: (changed) => options.onChanged(changed),
			afterPass: (changed) => this.#afterSweep(changed),
			onFailure: (error) => options.faults.report("the sweep failed and will be made again", error),
		});
	}

	/** Begins with the latest commits known. */
	start(commits: readonly number[]): void {
		this.#sweep.start(commits);
	}

	close(): void {
		this.#closed = true;
		this.#sweep.close();
		this.#index.close();
	}

	failed(name: Scanner, about: FaultClass, error: unknown, subject?: string): void {
		if (this.#closed) return;
		this.#options.duties.failed(name);
		this.#options.faults.report(about, error, subject === undefined ? [] : [subject]);
	}

	async #afterSweep(changed: readonly number[]): Promise<void> {
		const { own, routes, scannerFilter } = this.#options;
		await this.#scan("event_trimmer", "events could not be trimmed", () =>
			this.#trimmer.run(own(), (error) => this.failed("event_trimmer", "events could not be trimmed", error)),
		);
		await this.#scan("unblock", "blocked work could not be looked over", () =>
			routes.pass(own(), changed, scannerFilter),
		);
		await this.#scan("index_reconciler", "the index could not be looked over", () => this.#index.pass(own(), changed));
	}

	/** One pass of something that is not due at a time of its own; its next one comes whatever becomes of this. */
	async #scan(name: Scanner, about: FaultClass, pass: () => Promise<number>): Promise<void> {
		if (this.#closed) return;
		const { clock, duties, now } = this.#options;
		const startedAt = now();
		const began = clock.monotonic();
		try {
			const items = await pass();
			duties.ran(name, startedAt, clock.monotonic() - began, { items });
		} catch (error) {
			this.failed(name, about, error);
		}
	}
}
