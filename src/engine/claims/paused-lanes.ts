import type { Kernel } from "../../kernel/kernel.ts";
import { type LaneRecord, laneKey } from "../../kernel/records/lane.ts";
import type { Store } from "../../store/port.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import type { Watchers } from "../watchers.ts";

export interface PausedLanesOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
	store: Store;
	watchers: Watchers;
	/** A lane is no longer known to be paused in this partition. */
	onOpened(partition: number): Promise<void>;
}

/**
 * Lanes that claims found paused. Their queues are no longer looked at, so somebody must hear when a lane opens again:
 * its copy is watched from then on, and read once after the watch stands, lest it opened before that.
 */
export class PausedLanes {
	readonly #options: PausedLanesOptions;
	readonly #watched = new Map<string, () => void>();
	readonly #checks = new Set<Promise<void>>();

	constructor(options: PausedLanesOptions) {
		this.#options = options;
	}

	found(partition: number, namespace: string, lane: string): void {
		const key = laneKey(namespace, lane);
		const name = `${partition} ${key}`;
		if (this.#watched.has(name)) return;
		const check = () => {
			const checked = this.#check(partition, key, name).finally(() => this.#checks.delete(checked));
			this.#checks.add(checked);
		};
		const { watchers, store } = this.#options;
		const stops = [watchers.add(key, check), store.watch(partition, key)];
		this.#watched.set(name, () => {
			for (const stop of stops) stop();
		});
		check();
	}

	/** What is known to have opened is looked at: whoever opened a lane here and claims next finds its work. */
	async settled(): Promise<void> {
		await Promise.all(this.#checks);
	}

	async #check(partition: number, key: string, name: string): Promise<void> {
		const { runners, kernel, onOpened } = this.#options;
		try {
			const answer = await runners[partition]?.ask((store, at) => store.read(at, [key]));
			const [stored] = answer?.records ?? [];
			const copy = stored && stored.version > 0 ? (kernel.decode(key, stored.doc) as LaneRecord) : undefined;
			if (copy?.state === "paused") return;
		} catch {
			// Not known to be paused any more: looking at its queues does no harm.
		}
		this.#watched.get(name)?.();
		if (this.#watched.delete(name)) await onOpened(partition);
	}
}
