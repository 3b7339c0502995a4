import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import type { FaultClass } from "../fault-log.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { IndexMender } from "./index-mender.ts";
import { type AskPartition, type DriftedEntry, IndexWalk } from "./index-walk.ts";
import type { Scanner } from "./scanner.ts";

/** Questions to the store in one pass: with a pass in five minutes, fewer than one in two seconds. */
const CALLS_PER_PASS = 120;
/** Between two pages, so that whoever calls meanwhile is served first. */
const PAUSE_MS = 10;
/** A partition in which nothing has changed is walked again after this long: other hands may have been on the store. */
const REST_MS = 86_400_000;
const MOST_REMEMBERED = 1000;

export interface IndexReconcilerOptions {
	engineId: string;
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
	/** Whether this engine may act on what the entry is about. */
	isOurs(entry: DriftedEntry): boolean;
	onMended(partition: number, entries: readonly DriftedEntry[]): void;
	/** Told after a pass what it has mended, in words. */
	onReport(mended: readonly string[]): void;
	/** Told of what could not be judged or done. */
	onFailure(about: FaultClass, error: unknown, subject: string): void;
}

/**
 * Walks the partitions of this engine, a part of them in every pass, and mends what the index lacks or has too much. It
 * goes on where it was; a partition that has been walked to its end is walked again when something has changed in it. One
 * whose walk fails lets the next one go first.
 */
export class IndexReconciler implements Scanner {
	readonly name = "index_reconciler";
	readonly failure = "the index could not be checked";
	readonly #options: IndexReconcilerOptions;
	readonly #mender: IndexMender;
	/** When a walk of a partition was last finished, by the clock of this process. */
	readonly #walkedAt = new Map<number, number>();
	/** Keys told of already. */
	readonly #told = new Set<string>();
	#current: { partition: number; walk: IndexWalk } | undefined;
	/** The partition the last walk was of. */
	#last = -1;
	#calls = 0;
	#closed = false;

	constructor(options: IndexReconcilerOptions) {
		this.#options = options;
		this.#mender = new IndexMender(`${options.engineId} index`);
	}

	close(): void {
		this.#closed = true;
	}

	/** Returns how many entries were mended. */
	async runOnce(own: readonly number[], changed: readonly number[]): Promise<number> {
		for (const partition of changed) this.#walkedAt.delete(partition);
		const mended: DriftedEntry[] = [];
		const failed = new Set<number>();
		this.#calls = 0;
		while (!this.#closed && this.#calls < CALLS_PER_PASS) {
			const current = this.#goOn(own, failed);
			if (!current) break;
			try {
				for (const entry of await this.#step(current)) mended.push(entry);
			} catch (error) {
				failed.add(current.partition);
				this.#current = undefined;
				if (!this.#closed)
					this.#options.onFailure("the index could not be checked", error, `partition ${current.partition}`);
			}
			await this.#pause();
		}
		this.#tell(mended);
		return mended.length;
	}

	/** The walk that is under way, or that of the next partition whose turn it is. */
	#goOn(own: readonly number[], failed: ReadonlySet<number>): { partition: number; walk: IndexWalk } | undefined {
		if (this.#current && own.includes(this.#current.partition)) return this.#current;
		const now = this.#options.clock.monotonic();
		const waiting = own.filter((partition) => {
			const walkedAt = this.#walkedAt.get(partition);
			return !failed.has(partition) && (walkedAt === undefined || now - walkedAt >= REST_MS);
		});
		const partition = waiting.find((each) => each > this.#last) ?? waiting[0];
		if (partition === undefined) return undefined;
		this.#last = partition;
		this.#current = { partition, walk: new IndexWalk(this.#asker(partition), this.#options.kernel) };
		return this.#current;
	}

	async #step({ partition, walk }: { partition: number; walk: IndexWalk }): Promise<DriftedEntry[]> {
		const page = await walk.step();
		if (!page) {
			this.#walkedAt.set(partition, this.#options.clock.monotonic());
			this.#current = undefined;
			return [];
		}
		for (const { key, doc } of page.records) this.#tellUnreadable(key, doc);
		const ours = page.drift.filter((entry) => this.#options.isOurs(entry));
		if (ours.length === 0) return [];
		const mended = await this.#mender.mend(this.#asker(partition), ours);
		if (mended.length > 0) this.#options.onMended(partition, mended);
		return mended;
	}

	#asker(partition: number): AskPartition {
		const runner = this.#options.runners[partition] as PartitionRunner;
		return (question) => {
			this.#calls += 1;
			return runner.ask(question);
		};
	}

	#tellUnreadable(key: string, doc: string): void {
		if (this.#told.has(key)) return;
		try {
			this.#options.kernel.decode(key, doc);
		} catch (error) {
			if (this.#told.size >= MOST_REMEMBERED) this.#told.clear();
			this.#told.add(key);
			this.#options.onFailure("a record cannot be read, so its index entries are left alone", error, key);
		}
	}

	#tell(mended: readonly DriftedEntry[]): void {
		if (mended.length === 0) return;
		const told = mended.map(({ queue, key, score, problem }) => {
			const what = problem === "missing" ? "was missing and is there again" : "was stale and is gone";
			return `${key} in ${queue} at ${score} ${what}`;
		});
		this.#options.onReport(told);
	}

	#pause(): Promise<void> {
		return new Promise((resolve) => this.#options.clock.setTimer(PAUSE_MS, resolve));
	}
}
