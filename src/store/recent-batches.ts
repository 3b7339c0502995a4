import type { Batch, CommitReply } from "./port.ts";

/** How many of an engine's batches a store that remembers them here lets it have on their way at once. */
export const IN_FLIGHT = 2;

/**
 * The answers to the latest batches of each engine. A batch that comes again is answered as the first time. One that lies
 * further back than can still be on its way is a late copy; one that does not was overtaken, and is looked at like any
 * other.
 */
export class RecentBatches {
	readonly #byEngine = new Map<string, { latest: number; replies: Map<number, CommitReply> }>();

	/** The answer a batch got; `outdated` for a late copy, undefined for one that was not seen before. */
	recall({ engine, number }: Batch): CommitReply | "outdated" | undefined {
		const seen = this.#byEngine.get(engine);
		if (!seen) return undefined;
		return seen.replies.get(number) ?? (number <= seen.latest - IN_FLIGHT ? "outdated" : undefined);
	}

	remember({ engine, number }: Batch, reply: CommitReply): void {
		const seen = this.#byEngine.get(engine) ?? { latest: number, replies: new Map() };
		this.#byEngine.set(engine, seen);
		seen.latest = Math.max(seen.latest, number);
		seen.replies.set(number, reply);
		for (const old of seen.replies.keys()) if (old <= seen.latest - IN_FLIGHT) seen.replies.delete(old);
	}

	clear(): void {
		this.#byEngine.clear();
	}
}
