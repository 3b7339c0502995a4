import { executionKey } from "../../kernel/records/execution.ts";
import type { Engine } from "../engine.ts";

/**
 * Tells a reader when to look again at one execution. It listens from the moment it is made, so whoever reads after that
 * and then calls `next` misses nothing: a change meanwhile makes `next` answer at once.
 */
export class ChangeWatch {
	readonly #engine: Engine;
	readonly #signal: AbortSignal | undefined;
	readonly #stop: (() => void)[];
	#changed = false;
	#wake: (() => void) | undefined;

	constructor(engine: Engine, id: string, signal: AbortSignal | undefined) {
		this.#engine = engine;
		this.#signal = signal;
		const tell = () => this.#tell();
		this.#stop = [engine.watchers.add(executionKey(id), tell), engine.store.watch(engine.partitionOf(id), id)];
		if (signal) {
			signal.addEventListener("abort", tell);
			this.#stop.push(() => signal.removeEventListener("abort", tell));
		}
	}

	/** Waits until there may be something new, `ms` are over, the signal aborts or the engine closes. */
	async next(ms: number): Promise<void> {
		if (!this.#changed && !this.#signal?.aborted && !this.#engine.closed) {
			await new Promise<void>((resolve) => {
				const disarm = ms === Number.POSITIVE_INFINITY ? () => {} : this.#engine.clock.setTimer(ms, () => this.#tell());
				this.#wake = () => {
					disarm();
					resolve();
				};
			});
		}
		this.#changed = false;
		this.#wake = undefined;
	}

	close(): void {
		for (const stop of this.#stop) stop();
	}

	#tell(): void {
		this.#changed = true;
		this.#wake?.();
	}
}
