import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Store, StoreError } from "../../src/store/port.ts";
import { STORE_CALLS } from "../conformance/store-traffic.ts";

/**
 * A store some of whose partitions say nothing, neither yes nor no, until they wake up; then they do all they were asked.
 * Others fail whatever they are asked.
 */
export class HangingStore extends MemoryStore {
	readonly #asleep = new Map<number, (() => void)[]>();
	readonly #failing = new Map<number, StoreError>();
	/** Questions put to it, by name. */
	readonly calls: Record<string, number> = {};

	constructor(...given: ConstructorParameters<typeof MemoryStore>) {
		super(...given);
		for (const name of STORE_CALLS) {
			const asked = this[name].bind(this) as (partition: number, ...rest: unknown[]) => Promise<unknown>;
			(this as unknown as Record<keyof Store, unknown>)[name] = async (partition: number, ...rest: unknown[]) => {
				this.calls[name] = (this.calls[name] ?? 0) + 1;
				const failure = this.#failing.get(partition);
				if (failure) throw failure;
				const held = this.#asleep.get(partition);
				if (held) await new Promise<void>((resolve) => held.push(resolve));
				return asked(partition, ...rest);
			};
		}
	}

	/** Whether nothing comes to its end now: somebody waits for an answer that will not come, or tries again and again. */
	get isAwaited(): boolean {
		return this.#failing.size > 0 || [...this.#asleep.values()].some((held) => held.length > 0);
	}

	hang(partitions: Iterable<number>): void {
		for (const partition of partitions) if (!this.#asleep.has(partition)) this.#asleep.set(partition, []);
	}

	fail(partition: number, error: StoreError): void {
		this.#failing.set(partition, error);
	}

	wake(): void {
		const held = [...this.#asleep.values()].flat();
		this.#asleep.clear();
		this.#failing.clear();
		for (const answer of held) answer();
	}
}
