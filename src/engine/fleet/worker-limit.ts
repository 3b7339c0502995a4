import type { Clock } from "../../contract/clock.ts";
import { FlowFabricError } from "../../contract/errors.ts";
import { workersQueue } from "../../kernel/placement.ts";
import { workerKey } from "../../kernel/records/worker.ts";
import type { Registry } from "./registry.ts";

/** Worker instances a namespace may have at a time. */
export const MOST_WORKERS = 10_000;

/** How long the store's word counts, together with what was let in here since. */
const COUNTED_MS = 10_000;
/** Namespaces remembered. */
const MOST_NAMESPACES = 4096;

interface Count {
	size: number;
	/** When the store was asked. */
	at: number;
	/** Those that are about to be entered. */
	entering: number;
	/** Set while the store is asked. */
	asking: Promise<void> | undefined;
}

/**
 * Keeps a namespace from filling its registry without end: everybody who looks for a worker goes through all of it. Other
 * engines let workers in too, so there may be a few more than are allowed; one that is there already is never refused.
 */
export class WorkerLimit {
	readonly #registry: Registry;
	readonly #clock: Clock;
	readonly #most: number;
	readonly #counts = new Map<string, Count>();

	constructor(registry: Registry, clock: Clock, most = MOST_WORKERS) {
		this.#registry = registry;
		this.#clock = clock;
		this.#most = most;
	}

	/** Enters a worker by `enter`, unless it is one too many; `isNew` tells afterwards whether it was there before. */
	async admit<T>(
		namespace: string,
		instanceId: string,
		enter: () => Promise<T>,
		isNew: (entered: T) => boolean,
	): Promise<T> {
		const count = await this.#count(namespace);
		if (count.size + count.entering >= this.#most && !(await this.#isThere(namespace, instanceId))) {
			throw new FlowFabricError("too_many_workers", {
				message: `namespace ${namespace} has ${this.#most} live worker instances already`,
				details: { limit: this.#most },
			});
		}
		count.entering += 1;
		try {
			const entered = await enter();
			if (isNew(entered)) count.size += 1;
			return entered;
		} finally {
			count.entering -= 1;
		}
	}

	/** Whether there is no room for another. */
	async isFull(namespace: string): Promise<boolean> {
		const { size, entering } = await this.#count(namespace);
		return size + entering >= this.#most;
	}

	/** So many came by claiming. */
	entered(namespace: string, workers: number): void {
		const count = this.#counts.get(namespace);
		if (count) count.size += workers;
	}

	async #count(namespace: string): Promise<Count> {
		let count = this.#counts.get(namespace);
		if (!count) {
			if (this.#counts.size >= MOST_NAMESPACES) this.#counts.clear();
			count = { size: 0, at: Number.NEGATIVE_INFINITY, entering: 0, asking: undefined };
			this.#counts.set(namespace, count);
		}
		if (this.#clock.monotonic() - count.at >= COUNTED_MS) {
			count.asking ??= this.#ask(namespace, count);
			await count.asking;
		}
		return count;
	}

	async #ask(namespace: string, count: Count): Promise<void> {
		const at = this.#clock.monotonic();
		const queue = workersQueue(namespace);
		try {
			const { queues } = await this.#registry
				.runnerOf(namespace)
				.ask((store, partition) => store.queueSizes(partition, queue));
			// Another namespace may begin like this one.
			count.size = queues.find((each) => each.queue === queue)?.size ?? 0;
			count.at = at;
		} finally {
			count.asking = undefined;
		}
	}

	async #isThere(namespace: string, instanceId: string): Promise<boolean> {
		const key = workerKey(namespace, instanceId);
		const { records } = await this.#registry
			.runnerOf(namespace)
			.ask((store, partition) => store.read(partition, [key]));
		return records.some(({ version }) => version > 0);
	}
}
