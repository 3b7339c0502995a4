import type { Clock } from "../contract/clock.ts";
import { FlowFabricError, refusalError } from "../contract/errors.ts";
import { StoreError } from "../store/port.ts";
import type { PartitionRunner } from "./partition/partition-runner.ts";

/** While the store refuses changes it is asked this often at most whether it still does. */
const PROBE_AGAIN_MS = 2000;

/**
 * Whether the store takes changes. Nobody looks for that while it does: what it refused is remembered, and whoever asks
 * then makes it try a small write, until one works. So readiness comes back without anybody's traffic.
 */
export class WriteProbe {
	readonly #runners: readonly PartitionRunner[];
	readonly #clock: Clock;
	/** What partitions last refused for a reason that does not pass by itself. */
	readonly #refused = new Map<number, unknown>();
	#probedAt = Number.NEGATIVE_INFINITY;
	#probing: Promise<unknown> | undefined;

	constructor(runners: readonly PartitionRunner[], clock: Clock) {
		this.#runners = runners;
		this.#clock = clock;
	}

	/** A partition refused a batch, and would do so again. */
	refused(partition: number, error: unknown): void {
		this.#refused.set(partition, error);
	}

	/** Throws when the store refuses changes, with the reason it gives. */
	async check(): Promise<void> {
		if (this.#refused.size === 0) return;
		const now = this.#clock.monotonic();
		if (!this.#probing && now - this.#probedAt >= PROBE_AGAIN_MS) {
			this.#probedAt = now;
			this.#probing = Promise.all([...this.#refused.keys()].map((partition) => this.#probe(partition))).finally(() => {
				this.#probing = undefined;
			});
		}
		await this.#probing;
		const [refused] = this.#refused.values();
		if (refused !== undefined) throw refusalOf(refused);
	}

	async #probe(partition: number): Promise<void> {
		const runner = this.#runners[partition] as PartitionRunner;
		try {
			const outcome = await runner.run({ op: "probeWrite" });
			if (!outcome.ok) throw refusalError(outcome);
			this.#refused.delete(partition);
		} catch (error) {
			if (!this.#refused.has(partition)) this.#refused.set(partition, error);
		}
	}
}

/** Anybody may ask whether the store is ready: what it said is repeated only where it names no file and no server. */
function refusalOf(error: unknown): FlowFabricError {
	if (!(error instanceof StoreError)) return new FlowFabricError("store_unavailable", { cause: error });
	const isPlain = error.code === "store_unavailable";
	const said = isPlain ? { message: `the store refuses changes: ${error.message}` } : undefined;
	return new FlowFabricError(error.code, { ...said, cause: error });
}
