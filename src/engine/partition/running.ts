import type { Command } from "../../kernel/kernel.ts";
import type { Outcome } from "../../kernel/outcome.ts";

/** A command on its way through a partition runner. */
export interface Running {
	command: Command;
	outcome: Outcome | undefined;
	/** How often in a row its unit lost against another engine. */
	losses: number;
	/** Monotonic time of its arrival. */
	arrivedAt: number;
	resolve(outcome: Outcome): void;
	reject(error: unknown): void;
}
