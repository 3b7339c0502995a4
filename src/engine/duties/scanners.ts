import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { isOfFilter, isWithin, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import { GuardReconciler } from "../admission/guard-reconciler.ts";
import type { UnblockScanner } from "../blocking/unblock-scanner.ts";
import type { FaultClass, FaultLog } from "../fault-log.ts";
import { DependencyReconciler } from "../flows/dependency-reconciler.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { DutyLog, ScannerName } from "./duty-log.ts";
import { EventTrimmer } from "./event-trimmer.ts";
import { IndexReconciler } from "./index-reconciler.ts";
import type { DriftedEntry } from "./index-walk.ts";
import type { Scanner } from "./scanner.ts";
import { Sweep } from "./sweep.ts";

export interface ScannersOptions {
	engineId: string;
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
	unblock: UnblockScanner;
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
	/** In the order of their turns. */
	readonly #scanners: readonly Scanner[];
	#closed = false;

	constructor(options: ScannersOptions) {
		const { engineId, runners, kernel, clock, scannerFilter, sweepMs } = options;
		this.#options = options;
		const trimmer = new EventTrimmer(runners, kernel, (error) =>
			this.failed("event_trimmer", "events could not be trimmed", error),
		);
		const index = new IndexReconciler({
			engineId,
			runners,
			kernel,
			clock,
			// Of what is of no record nobody can say whose it was: anybody may take it out.
			isOurs: ({ key, record }) => !scannerFilter || !record || isWithin(scannerFilter, key, record),
			onMended: (partition, entries) => options.onMended(partition, entries),
			onReport: (mended) => options.faults.report("index entries were repaired", undefined, mended, mended.length),
			onFailure: (about, error, subject) => this.failed("index_reconciler", about, error, subject),
		});
		const guards = (["quota", "budget"] as const).map(
			(kind) =>
				new GuardReconciler({
					kind,
					runners,
					kernel,
					isOurs: (namespace) => isOfFilter(scannerFilter, namespace),
					onCorrected: (corrected) =>
						options.faults.report("slots and reservations were corrected", undefined, corrected, corrected.length),
				}),
		);
		const flows = new DependencyReconciler({
			runners,
			kernel,
			isOurs: (namespace) => isOfFilter(scannerFilter, namespace),
			onFound: (problems) =>
				options.faults.report("flows do not match the state of their members", undefined, problems, problems.length),
		});
		this.#scanners = [trimmer, options.unblock, ...guards, flows, index];
		this.#sweep = new Sweep({
			runners,
			clock,
			everyMs: sweepMs,
			onChanged: (changed) => options.onChanged(changed),
			afterPass: (changed) => this.#runAll(changed),
			onFailure: (error) => options.faults.report("the sweep failed and will be repeated", error),
		});
	}

	/** Begins with the latest commits known. */
	start(commits: readonly number[]): void {
		this.#sweep.start(commits);
	}

	close(): void {
		this.#closed = true;
		this.#sweep.close();
		for (const scanner of this.#scanners) scanner.close?.();
	}

	failed(name: ScannerName, about: FaultClass, error: unknown, subject?: string): void {
		if (this.#closed) return;
		this.#options.duties.failed(name);
		this.#options.faults.report(about, error, subject === undefined ? [] : [subject]);
	}

	/** One after the other: none is in a hurry, and a store is to be asked for little at a time. */
	async #runAll(changed: readonly number[]): Promise<void> {
		for (const scanner of this.#scanners) await this.#run(scanner, changed);
	}

	async #run(scanner: Scanner, changed: readonly number[]): Promise<void> {
		if (this.#closed) return;
		const { clock, duties, now, own } = this.#options;
		const startedAt = now();
		const began = clock.monotonic();
		try {
			const items = await scanner.runOnce(own(), changed);
			duties.ran(scanner.name, startedAt, clock.monotonic() - began, { items });
		} catch (error) {
			this.failed(scanner.name, scanner.failure, error);
		}
	}
}
