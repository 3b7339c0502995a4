import type { Clock } from "../../contract/clock.ts";
import type { Kernel } from "../../kernel/kernel.ts";
import { workersQueue } from "../../kernel/placement.ts";
import { slotOfWorkers, type WorkerRecord, workerExpiresAt } from "../../kernel/records/worker.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

/** Records read at a time. One may name hundreds of kinds: so many are read and taken apart in a moment. */
const STEP = 100;
/** The first records, when a few may be enough. */
const FIRST_STEP = 8;
/** A page ends when its documents are together so long, whatever it was asked for. */
const PAGE_CHARS = 2 * 1024 * 1024;

export interface RegistryOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	clock: Clock;
}

/** What is kept of a worker to tell whom it can serve, and for how long: thousands of them are held at once. */
export type WorkerOffer = Pick<WorkerRecord, "capabilities" | "lastSeenAt" | "ttlMs">;

/** Sees the workers that are there, one after the other. */
export interface WorkerVisitor {
	visit(worker: WorkerRecord): void;
	unreadable(key: string, error: unknown): void;
	/** Whether it has seen enough; a walk that nobody needs any more ends. Left out by whoever wants to see all. */
	isDone?(): boolean;
}

/** A walk that has not begun yet, and whoever comes along. */
interface NextWalk {
	visitors: WorkerVisitor[];
	time: Promise<number>;
}

/** The workers of a namespace as the store has them. All of a namespace live in one partition: a read of it is whole. */
export class Registry {
	readonly #options: RegistryOptions;
	/** The ends of the latest walks, and the walks that begin then. */
	readonly #walks = new Map<string, Promise<void>>();
	readonly #next = new Map<string, NextWalk>();

	constructor(options: RegistryOptions) {
		this.#options = options;
	}

	runnerOf(namespace: string): PartitionRunner {
		const { runners } = this.#options;
		return runners[slotOfWorkers(namespace) % runners.length] as PartitionRunner;
	}

	/**
	 * What those offer that are there now; one past its time is gone although its tick is to come. One that cannot be read
	 * makes the whole read a failure: it may offer anything.
	 */
	async read(namespace: string): Promise<{ workers: WorkerOffer[]; time: number }> {
		const workers: WorkerOffer[] = [];
		const sets = new Map<string, readonly string[]>();
		let failure: { error: unknown } | undefined;
		const time = await this.visit(namespace, {
			visit({ capabilities, lastSeenAt, ttlMs }) {
				const name = capabilities.join(",");
				if (!sets.has(name)) sets.set(name, capabilities);
				workers.push({ capabilities: sets.get(name) ?? capabilities, lastSeenAt, ttlMs });
			},
			unreadable: (_, error) => {
				failure ??= { error };
			},
		});
		if (failure) throw failure.error;
		return { workers, time };
	}

	/**
	 * Shows the workers that are there now, in the order they came; resolves to the time that was. A namespace is walked
	 * by one at a time, and whoever asks meanwhile shares the next walk: what thousands of workers cost to read is paid
	 * once, however many want to know.
	 */
	visit(namespace: string, visitor: WorkerVisitor): Promise<number> {
		let next = this.#next.get(namespace);
		if (!next) {
			const visitors: WorkerVisitor[] = [];
			const before = this.#walks.get(namespace) ?? Promise.resolve();
			const time = before.then(() => {
				this.#next.delete(namespace);
				return this.#walk(namespace, visitors);
			});
			next = { visitors, time };
			this.#next.set(namespace, next);
			this.#noteEnd(namespace, time);
		}
		next.visitors.push(visitor);
		return next.time;
	}

	/** Some workers behind a position, as many as asked for unless they are large; `next` is where it goes on. */
	async page(
		namespace: string,
		limit: number,
		after: QueuePosition | undefined,
		onUnreadable: (key: string, error: unknown) => void,
	): Promise<{ workers: WorkerRecord[]; next?: QueuePosition }> {
		const runner = this.runnerOf(namespace);
		const { entries } = await runner.ask((store, partition) =>
			store.first(partition, workersQueue(namespace), limit + 1, after),
		);
		const workers: WorkerRecord[] = [];
		const visitor: WorkerVisitor = { visit: (worker) => workers.push(worker), unreadable: onUnreadable };
		let chars = 0;
		let taken = 0;
		while (taken < Math.min(limit, entries.length) && chars < PAGE_CHARS) {
			const step = entries.slice(taken, Math.min(limit, taken + STEP));
			chars += (await this.#show(runner, step, [visitor])).chars;
			taken += step.length;
		}
		const last = entries[taken - 1];
		return { workers, ...(last && taken < entries.length ? { next: last } : undefined) };
	}

	/** Whoever waits for a walk to end only wants to be the next, however it ends. */
	#noteEnd(namespace: string, walk: Promise<number>): void {
		const ended = walk.then(
			() => {},
			() => {},
		);
		this.#walks.set(namespace, ended);
		void ended.then(() => {
			if (this.#walks.get(namespace) === ended) this.#walks.delete(namespace);
		});
	}

	async #walk(namespace: string, visitors: readonly WorkerVisitor[]): Promise<number> {
		const runner = this.runnerOf(namespace);
		let after: QueuePosition | undefined;
		for (let step = visitors.every((visitor) => visitor.isDone) ? FIRST_STEP : STEP; ; step = STEP) {
			const position = after;
			const asked = step;
			const { entries, time } = await runner.ask((store, partition) =>
				store.first(partition, workersQueue(namespace), asked, position),
			);
			if (entries.length > 0) await this.#show(runner, entries, visitors);
			if (entries.length < asked || visitors.every((visitor) => visitor.isDone?.())) return time;
			after = entries.at(-1);
			// A long registry is read in the gaps that others leave.
			await new Promise<void>((resolve) => this.#options.clock.defer(resolve));
		}
	}

	async #show(
		runner: PartitionRunner,
		entries: readonly QueuePosition[],
		visitors: readonly WorkerVisitor[],
	): Promise<{ chars: number }> {
		const keys = entries.map(({ key }) => key);
		const { records, time } = await runner.ask((store, partition) => store.read(partition, keys));
		let chars = 0;
		for (const { key, version, doc } of records) {
			if (version === 0) continue;
			chars += doc.length;
			try {
				const worker = this.#options.kernel.decode(key, doc) as WorkerRecord;
				if (workerExpiresAt(worker) > time) for (const visitor of visitors) visitor.visit(worker);
			} catch (error) {
				for (const visitor of visitors) visitor.unreadable(key, error);
			}
		}
		return { chars };
	}
}
