import type { Outcome } from "../../kernel/outcome.ts";

/** A command on its way through a partition runner. */
export interface Running {
	command: { op: string };
	outcome: Outcome | undefined;
	/** How often in a row its unit lost against another engine. */
	losses: number;
	/** Monotonic time until which its caller waits. */
	until: number;
	/** Its caller was told that the store does not answer: it is not to run again. */
	isOver: boolean;
	/** Whether it has let a scan of what it writes go first since it last ran. */
	hasYielded: boolean;
	resolve(outcome: Outcome): void;
	reject(error: unknown): void;
}
