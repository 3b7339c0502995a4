import { FlowFabricError } from "../contract/errors.ts";
import type { AbortCause } from "./errors.ts";
import type { Logger } from "./logger.ts";

/** What every hook is told of the attempt it is about. */
interface EndedAttempt {
	/** The execution. */
	executionId: string;
	/** Its kind. */
	kind: string;
	/** The attempt, counted from 0. */
	attempt: number;
	/** Milliseconds from the start of the handler until its outcome was known. */
	durationMs: number;
}

/** What a hook is told when a handler threw. */
interface FailedAttempt extends EndedAttempt {
	/** The message of what was thrown. */
	reason: string;
	/** The kind of failure, as retry policies name it. */
	category: string;
	/** Name, stack and causes of what was thrown; left out when there are none. */
	detail?: string;
}

/** What hooks of a worker are told, by the name of the hook. */
export interface WorkerEvents {
	/** An execution was completed here, and the server has its result. */
	completed: EndedAttempt;
	/** An execution failed here for good. */
	failed: FailedAttempt;
	/** An attempt failed here and another will be made. */
	retried: FailedAttempt & {
		/** When the next attempt may begin, in Unix milliseconds. */
		retryAt: number;
	};
	/** An execution was taken from this worker before it had an outcome. */
	lost: EndedAttempt & {
		/** Why: its lease was lost or revoked, it was cancelled, or a budget was breached. */
		cause: AbortCause;
		/** The same in words. */
		reason: string;
	};
}

/** A listener of a worker's hook. What it throws, or rejects with, is logged and harms nothing. */
export type WorkerListener<E extends keyof WorkerEvents> = (event: WorkerEvents[E]) => unknown;

const NAMES: readonly string[] = ["completed", "failed", "retried", "lost"] satisfies (keyof WorkerEvents)[];

/** Who listens to what a worker does. */
export class Hooks {
	readonly #listeners = new Map<string, Set<WorkerListener<never>>>();
	readonly #log: Logger;

	constructor(log: Logger) {
		this.#log = log;
	}

	add<E extends keyof WorkerEvents>(name: E, listener: WorkerListener<E>): void {
		if (!NAMES.includes(name)) throw refused("event", `must be one of ${NAMES.join(", ")}`);
		if (typeof listener !== "function") throw refused("listener", `must be a function, got ${typeof listener}`);
		// A copy: whoever is being told of something now is told to the end.
		this.#listeners.set(name, new Set(this.#listeners.get(name)).add(listener));
	}

	remove<E extends keyof WorkerEvents>(name: E, listener: WorkerListener<E>): void {
		const left = new Set(this.#listeners.get(name));
		left.delete(listener);
		this.#listeners.set(name, left);
	}

	tell<E extends keyof WorkerEvents>(name: E, event: WorkerEvents[E]): void {
		for (const listener of this.#listeners.get(name) ?? []) void this.#call(name, listener as WorkerListener<E>, event);
	}

	async #call<E extends keyof WorkerEvents>(
		name: E,
		listener: WorkerListener<E>,
		event: WorkerEvents[E],
	): Promise<void> {
		try {
			await listener({ ...event });
		} catch (error) {
			this.#log.error(`a listener of "${name}" failed for ${event.executionId}: ${String(error)}`);
		}
	}
}

const refused = (field: string, problem: string): FlowFabricError =>
	new FlowFabricError("invalid_input", { message: `${field}: ${problem}`, details: { field } });
