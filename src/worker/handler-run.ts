import type { Backend } from "../contract/backend.ts";
import type { Clock } from "../contract/clock.ts";
import { FlowFabricError } from "../contract/errors.ts";
import { backoff } from "./backoff.ts";
import type { AbortCause, HandlerSuspended } from "./errors.ts";
import type { StreamWriter } from "./frame-writer.ts";
import type { HandlerLog } from "./logger.ts";

/** One run of a handler, for all that it does under its lease. */
export interface HandlerRun {
	readonly id: string;
	readonly fence: { leaseId: string; epoch: number };
	readonly backend: Backend;
	readonly clock: Clock;
	readonly leaseMs: number;
	/** Made when it is first asked for. */
	readonly signal: AbortSignal;
	readonly log: HandlerLog;
	/** Whether the signal has aborted. */
	readonly isAborted: boolean;
	/** Why nothing more can be done for the execution here: it was suspended, handed back, or its lease is over. */
	readonly over: Error | undefined;
	/** Made when it is first asked for. */
	readonly stream: StreamWriter;
	/** What was written to the stream is kept before the lease is let go of, and before a step is recorded. */
	flush(): Promise<void>;
	/** The lease is gone, for whatever reason. */
	lose(why: AbortCause, message: string): void;
	/** The lease was given up so that the execution can wait. */
	suspended(by: HandlerSuspended): void;
}

/** Refusals that say that the lease is no longer this run's. */
const LEASE_IS_OVER: ReadonlySet<string> = new Set([
	"stale_lease",
	"lease_expired",
	"lease_revoked",
	"execution_not_active",
	"execution_not_found",
]);

/**
 * Makes a call that carries the fence until it is answered. A fault on the way may be gone at the next try; once the lease
 * is over there is none.
 */
export async function insist<T>(run: HandlerRun, call: () => Promise<T>): Promise<T> {
	for (let tries = 0; ; tries++) {
		if (run.over) throw run.over;
		try {
			return await call();
		} catch (error) {
			if (run.over) throw run.over;
			if (error instanceof FlowFabricError && LEASE_IS_OVER.has(error.code)) {
				run.lose("lease_lost", error.message);
				throw run.over ?? error;
			}
			if (error instanceof FlowFabricError && !error.retryable) throw error;
			await pause(run, backoff(tries));
		}
	}
}

/** Lets time pass; ends early when the run is aborted. */
export function pause({ clock, signal }: Pick<HandlerRun, "clock" | "signal">, ms: number): Promise<void> {
	if (signal.aborted) return Promise.resolve();
	return new Promise((resolve) => {
		const end = () => {
			disarm();
			signal.removeEventListener("abort", end);
			resolve();
		};
		const disarm = clock.setTimer(ms, end);
		signal.addEventListener("abort", end);
	});
}
