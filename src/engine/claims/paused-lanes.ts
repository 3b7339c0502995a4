import { type LaneRecord, laneKey } from "../../kernel/records/lane.ts";
import type { Engine } from "../engine.ts";

/**
 * Lanes that claims found paused. Their queues are no longer looked at, so somebody must hear when a lane opens again:
 * its copy is watched from then on, and read once after the watch stands, lest it opened before that.
 */
export class PausedLanes {
	readonly #engine: Engine;
	readonly #watched = new Map<string, () => void>();
	readonly #checks = new Set<Promise<void>>();

	constructor(engine: Engine) {
		this.#engine = engine;
	}

	found(partition: number, namespace: string, lane: string): void {
		const key = laneKey(namespace, lane);
		const name = `${partition} ${key}`;
		if (this.#watched.has(name)) return;
		const check = () => {
			const checked = this.#check(partition, key, name).finally(() => this.#checks.delete(checked));
			this.#checks.add(checked);
		};
		const stops = [this.#engine.watchers.add(key, check), this.#engine.store.watch(partition, key)];
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
		const { runners, kernel, dispatcher } = this.#engine;
		try {
			const answer = await runners[partition]?.ask((store, at) => store.read(at, [key]));
			const [stored] = answer?.records ?? [];
			const copy = stored && stored.version > 0 ? (kernel.decode(key, stored.doc) as LaneRecord) : undefined;
			if (copy?.state === "paused") return;
		} catch {
			// Not known to be paused any more: looking at its queues does no harm.
		}
		this.#watched.get(name)?.();
		if (this.#watched.delete(name) && !this.#engine.closed) await dispatcher.work.lookAt([partition]);
	}
}
