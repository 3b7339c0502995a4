import type { BlockingCause } from "../../kernel/blocking.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { MOVED_PER_STEP } from "../../kernel/rules/block.ts";
import { isWithin, type ScannerFilter } from "../../kernel/scanner-filter.ts";
import type { QueuePosition, StoredRecord } from "../../store/port.ts";
import type { WorkFinder } from "../claims/work-finder.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

export interface BlockedMoverOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	work(): WorkFinder;
	onFailure(error: unknown): void;
}

/** Partitions asked at the same time. */
const IN_FLIGHT = 16;
/** Steps that move nothing although the store has something, before it is left to the next who looks. */
const MOST_IDLE_STEPS = 5;

/** A queue in one partition. */
export type Place = readonly [partition: number, queue: string];

/** How many the first step moved, and how many all of them. */
export interface Moving {
	first: Promise<number>;
	all: Promise<number>;
}

export type Move =
	| { op: "block"; cause: BlockingCause; queue: string; detail: string }
	| { op: "unblock"; cause: BlockingCause; queue: string; keys?: readonly string[] };

/**
 * Moves work between the queue it could be claimed from and the queue of what blocks it, whatever the cause: step by step,
 * since either may be long, and for as long as that is wanted. Whether it is, whoever knows the cause says.
 */
export class BlockedMover {
	readonly #options: BlockedMoverOptions;

	constructor(options: BlockedMoverOptions) {
		this.#options = options;
	}

	/** Queues that are not empty, a few partitions at a time. */
	async queuesIn(partitions: readonly number[], prefix: string): Promise<Place[]> {
		const found: Place[] = [];
		for (let n = 0; n < partitions.length; n += IN_FLIGHT) {
			const step = partitions.slice(n, n + IN_FLIGHT).map(async (partition) => {
				const { queues } = await this.#runner(partition).ask((store, at) => store.queues(at, prefix));
				for (const queue of queues) found.push([partition, queue]);
			});
			await Promise.all(step);
		}
		return found;
	}

	/** Whoever makes it wanted or unwanted meanwhile has it moved the other way; two that moved it to and fro would never end. */
	move(partition: number, move: Move, isWanted: () => Promise<boolean>): Moving {
		const first = this.#step(partition, move);
		const all = first.then(async (count) => {
			let total = count;
			for (let moved = count, idle = 0; idle < MOST_IDLE_STEPS; total += moved) {
				if (moved < MOVED_PER_STEP && (await this.#isOver(partition, move))) break;
				if (!(await isWanted())) break;
				moved = await this.#step(partition, move);
				idle = moved === 0 ? idle + 1 : 0;
			}
			return total;
		});
		return { first, all };
	}

	/** Resolves when the first of a queue can be claimed, and all of a short one; the rest follows. */
	async release(cause: BlockingCause, [partition, queue]: Place, isWanted: () => Promise<boolean>): Promise<number> {
		const { first, all } = this.move(partition, { op: "unblock", cause, queue }, isWanted);
		// If the first step fails, that is told below.
		const whole = all.catch((error) => first.then(() => this.#options.onFailure(error)).catch(() => {}));
		const count = await first;
		if (count < MOVED_PER_STEP) await whole;
		return count;
	}

	/** Page after page: what is not within the filter stays, and must not hide what is behind it. */
	async releaseWithin(filter: ScannerFilter, cause: BlockingCause, [partition, queue]: Place): Promise<number> {
		const { kernel } = this.#options;
		const runner = this.#runner(partition);
		let moved = 0;
		let after: QueuePosition | undefined;
		do {
			const position = after;
			const { entries } = await runner.ask((store, at) => store.first(at, queue, MOVED_PER_STEP, position));
			const { records } = await runner.ask((store, at) => store.read(at, keysOf(entries)));
			const keys = keysOf(records.filter((stored) => isReadableWithin(kernel, filter, stored)));
			if (keys.length > 0) moved += await this.#step(partition, { op: "unblock", cause, queue, keys });
			after = entries.length < MOVED_PER_STEP ? undefined : entries.at(-1);
		} while (after);
		return moved;
	}

	async #step(partition: number, move: Move): Promise<number> {
		const outcome = await this.#runner(partition).run({ ...move, actor: "unblock" });
		if (!outcome.ok) throw new Error(outcome.code);
		return outcome.moved;
	}

	/** Only the store can say that a queue is empty; claims are told, lest they have it examined again and again. */
	async #isOver(partition: number, { queue }: Move): Promise<boolean> {
		const runner = this.#runner(partition);
		const emptied = this.#options.work().looking(partition, queue);
		const { entries } = await runner.ask((store, at) => store.first(at, queue, 1));
		if (entries.length > 0) runner.heads.forget(queue);
		else emptied();
		return entries.length === 0;
	}

	#runner(partition: number): PartitionRunner {
		return this.#options.runners[partition] as PartitionRunner;
	}
}

const keysOf = (found: readonly { key: string }[]): string[] => found.map(({ key }) => key);

/** Whose it is cannot be said of one that cannot be read: it is left alone. */
function isReadableWithin(kernel: Kernel, filter: ScannerFilter, { key, version, doc }: StoredRecord): boolean {
	try {
		return version > 0 && isWithin(filter, key, kernel.decode(key, doc));
	} catch {
		return false;
	}
}
