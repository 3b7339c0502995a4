import type { Clock } from "../../contract/clock.ts";
import type { PartitionRunner } from "../partition/partition-runner.ts";
import { MAX_PARTITIONS_PER_SCAN } from "./partition-scan.ts";

/** A store that is slower than this over the least of questions is not taken to be there. */
const PROBE_MS = 1000;
/** A store that has answered this lately need not be asked. */
const LATELY_MS = 5000;

export interface StoreProbeOptions {
	runners: readonly PartitionRunner[];
	clock: Clock;
	onFailed(partition: number, error: unknown): void;
}

/** Tells whether the store is there, before somebody is told that there is no work in it. */
export class StoreProbe {
	readonly #options: StoreProbeOptions;
	/** Questions under way: whoever wants to know the same meanwhile shares them. */
	readonly #asked = new Map<number, Promise<boolean>>();

	constructor(options: StoreProbeOptions) {
		this.#options = options;
	}

	/**
	 * Whether one of these partitions was heard lately, and since a monotonic time, or is now. One of them is asked, and the
	 * others only if that one does not answer. All who want to know it of about the same partitions ask the same one, so
	 * this costs little however many there are.
	 */
	async isThere(partitions: readonly number[], since: number): Promise<boolean> {
		const lately = Math.max(since, this.#options.clock.monotonic() - LATELY_MS);
		if (partitions.some((partition) => this.#isHeardSince(partition, lately))) return true;
		const sound = partitions.filter((partition) => this.#isHeardSince(partition, Number.NEGATIVE_INFINITY));
		const among = sound.length > 0 ? sound : partitions;
		const first = among.find((partition) => partition % MAX_PARTITIONS_PER_SCAN === 0) ?? (among[0] as number);
		if (await this.#ask(first)) return true;
		const others = partitions.filter((partition) => partition !== first).map((partition) => this.#ask(partition));
		return Promise.any(others.map((asked) => asked.then((answers) => answers || Promise.reject()))).catch(() => false);
	}

	#isHeardSince(partition: number, since: number): boolean {
		return this.#options.runners[partition]?.isHeardSince(since) === true;
	}

	#ask(partition: number): Promise<boolean> {
		const underWay = this.#asked.get(partition);
		if (underWay) return underWay;
		const runner = this.#options.runners[partition] as PartitionRunner;
		const asked = runner
			.ask((store, at) => store.read(at, []), PROBE_MS)
			.then(
				() => true,
				(error: unknown) => {
					this.#options.onFailed(partition, error);
					return false;
				},
			)
			.finally(() => this.#asked.delete(partition));
		this.#asked.set(partition, asked);
		return asked;
	}
}
