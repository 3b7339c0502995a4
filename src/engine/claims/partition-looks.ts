import type { Clock } from "../../contract/clock.ts";
import { ELIGIBLE } from "../../kernel/placement.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { PARTITION_PATIENCE_MS } from "../partition/store-line.ts";
import { MAX_PARTITIONS_PER_SCAN } from "./partition-scan.ts";

const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 60_000;

export interface PartitionLooksOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	/** A queue that is not empty. */
	onFound(partition: number, queue: string): void;
	onFailed(partition: number, error: unknown): void;
}

/**
 * Which partitions' queues are known here. One that was looked at once stays known, because notices tell of every queue
 * that fills up from then on; so a claim that finds nothing need not ask again what was asked before. A partition is no
 * longer known once notices may have been missed; then it is looked at again, by and by even if nobody claims.
 */
export class PartitionLooks {
	readonly #options: PartitionLooksOptions;
	readonly #known: boolean[];
	/** Counts what made earlier looks worthless: one that began before does not count. */
	readonly #doubts: number[];
	readonly #underWay = new Map<number, { doubts: number | undefined; look: Promise<boolean> }>();
	/** Looks at some queues of a partition: those under way, and those that begin when they have ended. */
	readonly #fresh = new Map<string, Promise<boolean>>();
	readonly #next = new Map<string, Promise<boolean>>();
	#disarm: (() => void) | undefined;
	#failures = 0;
	/** What the last partition that could not be read said. */
	lastFailure: unknown;
	#closed = false;

	constructor(options: PartitionLooksOptions) {
		this.#options = options;
		this.#known = options.runners.map(() => false);
		this.#doubts = options.runners.map(() => 0);
	}

	isKnown(partition: number): boolean {
		return this.#known[partition] === true;
	}

	/** What is known of a partition may not be all: the next claim that comes by looks again. */
	doubt(partition: number): void {
		this.#known[partition] = false;
		this.#doubts[partition] = (this.#doubts[partition] ?? 0) + 1;
	}

	/** Looks at a partition, together with whoever else does now; false when it could not be read. */
	look(partition: number): Promise<boolean> {
		const doubts = this.#doubts[partition];
		const underWay = this.#underWay.get(partition);
		if (underWay?.doubts === doubts) return (underWay as { look: Promise<boolean> }).look;
		const look = this.#lookWhole(partition).finally(() => {
			if (this.#underWay.get(partition)?.look === look) this.#underWay.delete(partition);
		});
		this.#underWay.set(partition, { doubts, look });
		return look;
	}

	/**
	 * Looks at the queues whose names begin so, and sees all that was stored before: a look that is under way may have been
	 * answered already, so whoever comes meanwhile shares the next.
	 */
	lookAfresh(partition: number, prefix: string): Promise<boolean> {
		const name = `${partition} ${prefix}`;
		const underWay = this.#fresh.get(name);
		let next = this.#next.get(name);
		if (next) return next;
		const look = async (): Promise<boolean> => {
			this.#next.delete(name);
			return this.#ask(partition, prefix);
		};
		next = underWay ? underWay.then(look) : look();
		if (underWay) this.#next.set(name, next);
		this.#fresh.set(name, next);
		const ended = () => {
			if (this.#fresh.get(name) === next) this.#fresh.delete(name);
		};
		void next.then(ended, ended);
		return next;
	}

	/** Looks anew at these partitions, a few at a time. */
	async refresh(partitions: readonly number[]): Promise<void> {
		for (const partition of partitions) this.doubt(partition);
		await this.#lookAtUnknown(partitions);
	}

	/** A partition could not be read. Nobody may sleep for ever because of that: it is looked at again later. */
	failed(partition: number, error: unknown): void {
		if (this.#closed) return;
		this.lastFailure = error;
		this.doubt(partition);
		this.#options.onFailed(partition, error);
		if (this.#disarm) return;
		const ms = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures++, 6));
		this.#disarm = this.#options.clock.setTimer(ms, () => {
			this.#disarm = undefined;
			void this.#lookAtUnknown([...this.#options.runners.keys()]);
		});
	}

	close(): void {
		this.#closed = true;
		this.#disarm?.();
	}

	async #lookAtUnknown(partitions: readonly number[]): Promise<void> {
		const unknown = partitions.filter((partition) => !this.isKnown(partition));
		for (let n = 0; n < unknown.length && !this.#closed; n += MAX_PARTITIONS_PER_SCAN) {
			await Promise.all(unknown.slice(n, n + MAX_PARTITIONS_PER_SCAN).map((partition) => this.look(partition)));
		}
		if (!this.#disarm) this.#failures = 0;
	}

	async #lookWhole(partition: number): Promise<boolean> {
		const doubts = this.#doubts[partition];
		const answered = await this.#ask(partition, ELIGIBLE);
		if (answered && doubts === this.#doubts[partition]) this.#known[partition] = true;
		return answered;
	}

	async #ask(partition: number, prefix: string): Promise<boolean> {
		const { runners, onFound } = this.#options;
		const runner = runners[partition] as PartitionRunner;
		try {
			const { queues } = await runner.ask((store, at) => store.queues(at, prefix), PARTITION_PATIENCE_MS);
			for (const queue of queues) {
				if (runner.heads.peek(queue) === null) runner.heads.forget(queue);
				onFound(partition, queue);
			}
			return true;
		} catch (error) {
			this.failed(partition, error);
			return false;
		}
	}
}
