import { MemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { STORE_CALLS } from "../conformance/store-traffic.ts";

/** A store some of whose partitions say nothing, neither yes nor no, until they wake up; then they do all they were asked. */
export class HangingStore extends MemoryStore {
	readonly #asleep = new Map<number, (() => void)[]>();
	/** Questions put to it, by name. */
	readonly calls: Record<string, number> = {};

	constructor(...given: ConstructorParameters<typeof MemoryStore>) {
		super(...given);
		for (const name of STORE_CALLS) {
			const asked = this[name].bind(this) as (partition: number, ...rest: unknown[]) => Promise<unknown>;
			(this as unknown as Record<keyof Store, unknown>)[name] = async (partition: number, ...rest: unknown[]) => {
				this.calls[name] = (this.calls[name] ?? 0) + 1;
				const held = this.#asleep.get(partition);
				if (held) await new Promise<void>((resolve) => held.push(resolve));
				return asked(partition, ...rest);
			};
		}
	}

	/** Whether somebody waits for an answer that will not come. */
	get isAwaited(): boolean {
		return [...this.#asleep.values()].some((held) => held.length > 0);
	}

	hang(partitions: Iterable<number>): void {
		for (const partition of partitions) if (!this.#asleep.has(partition)) this.#asleep.set(partition, []);
	}

	wake(): void {
		const held = [...this.#asleep.values()].flat();
		this.#asleep.clear();
		for (const answer of held) answer();
	}
}
