import type { Clock } from "../../contract/clock.ts";
import type { ProgressNotice } from "../../contract/replies.ts";
import type { ExecutionRecord, Progress } from "../../kernel/records/execution.ts";

/** The least time between two that one reader is told. */
const LEAST_MS = 250;

/**
 * Tells one reader how far work is, as often as a person can take it in: of all that comes too soon after the last only the
 * latest is told. What was there when the reader came is not news.
 */
export class ProgressTeller {
	readonly #clock: Clock;
	readonly #tell: (progress: ProgressNotice) => void;
	#seen: Progress | null | undefined;
	#pending: ProgressNotice | undefined;
	#toldAt = Number.NEGATIVE_INFINITY;
	#disarm: (() => void) | undefined;

	constructor(clock: Clock, tell: (progress: ProgressNotice) => void) {
		this.#clock = clock;
		this.#tell = tell;
	}

	saw({ id, progress }: ExecutionRecord, at: number): void {
		const isFirst = this.#seen === undefined;
		const isNews = progress?.percent !== this.#seen?.percent || progress?.message !== this.#seen?.message;
		this.#seen = progress;
		if (isFirst || !isNews || !progress) return;
		this.#pending = { executionId: id, ...progress, at };
		const left = this.#toldAt + LEAST_MS - this.#clock.monotonic();
		if (left <= 0) this.flush();
		else this.#disarm ??= this.#clock.setTimer(left, () => this.flush());
	}

	/** Tells now what was kept back. */
	flush(): void {
		this.stop();
		if (!this.#pending) return;
		this.#toldAt = this.#clock.monotonic();
		this.#tell(this.#pending);
		this.#pending = undefined;
	}

	stop(): void {
		this.#disarm?.();
		this.#disarm = undefined;
	}
}
