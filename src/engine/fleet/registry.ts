import type { Kernel } from "../../kernel/kernel.ts";
import { workersQueue } from "../../kernel/placement.ts";
import { slotOfWorkers, type WorkerRecord, workerExpiresAt } from "../../kernel/records/worker.ts";
import type { QueuePosition } from "../../store/port.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";

const PAGE = 1000;

export interface RegistryOptions {
	runners: readonly PartitionRunner[];
	kernel: Kernel;
}

/** The workers of a namespace as the store has them. All of a namespace live in one partition: a read of it is whole. */
export class Registry {
	readonly #options: RegistryOptions;

	constructor(options: RegistryOptions) {
		this.#options = options;
	}

	runnerOf(namespace: string): PartitionRunner {
		const { runners } = this.#options;
		return runners[slotOfWorkers(namespace) % runners.length] as PartitionRunner;
	}

	/**
	 * Those that are there now, in the order they came; one past its time is gone although its tick is to come. Without
	 * `onUnreadable` one that cannot be read makes the whole read a failure: who cannot be read may offer anything.
	 */
	async read(
		namespace: string,
		onUnreadable?: (key: string, error: unknown) => void,
	): Promise<{ workers: WorkerRecord[]; time: number }> {
		const runner = this.runnerOf(namespace);
		const workers: WorkerRecord[] = [];
		let after: QueuePosition | undefined;
		for (;;) {
			const position = after;
			const { entries, time } = await runner.ask((store, partition) =>
				store.first(partition, workersQueue(namespace), PAGE, position),
			);
			const keys = entries.map(({ key }) => key);
			const { records } =
				keys.length > 0 ? await runner.ask((store, partition) => store.read(partition, keys)) : { records: [] };
			for (const { key, version, doc } of records) {
				if (version === 0) continue;
				try {
					const worker = this.#options.kernel.decode(key, doc) as WorkerRecord;
					if (workerExpiresAt(worker) > time) workers.push(worker);
				} catch (error) {
					if (!onUnreadable) throw error;
					onUnreadable(key, error);
				}
			}
			if (entries.length < PAGE) return { workers, time };
			after = entries.at(-1);
		}
	}
}
