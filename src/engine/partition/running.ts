import type { Outcome } from "../../kernel/outcome.ts";

/** A command on its way through a partition runner. */
export interface Running {
	command: { op: string };
	outcome: Outcome | undefined;
	/** How often in a row its unit lost against another engine. */
	losses: number;
	/** How many of what a call brings by the hundred it stands for; 0 for what comes alone. */
	ofMany: number;
	/** Monotonic time of its arrival. */
	arrivedAt: number;
	resolve(outcome: Outcome): void;
	reject(error: unknown): void;
}
