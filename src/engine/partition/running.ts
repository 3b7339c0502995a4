import type { Command } from "../../kernel/kernel.ts";
import type { Outcome } from "../../kernel/outcome.ts";

/** A command on its way through a partition runner. */
export interface Running {
	command: Command;
	outcome: Outcome | undefined;
	/** How often in a row its unit lost against another engine. */
	losses: number;
	/** Monotonic time until which its caller waits. */
	until: number;
	/** Its caller was told that the store does not answer: it is not to run again. */
	isOver: boolean;
	/** How many of what a call brings by the hundred it stands for; 0 for what comes alone. */
	ofMany: number;
	/** Its place among commands whose scan was put off; 0 when none was. */
	scanTicket: number;
	/** The last of those that it lets go first, as they scan what it writes; 0 when it was not held back since it ran. */
	yieldsUpTo: number;
	resolve(outcome: Outcome): void;
	reject(error: unknown): void;
}
