import type { CommandContext } from "./command-context.ts";
import { MisuseError } from "./exit-codes.ts";

/** Whether a person can be asked: somebody sees the question, and can type. */
export const canAsk = ({ terminal, stdin }: CommandContext): boolean => terminal.moves && stdin.isTTY === true;

/** Refuses what needs a yes where nobody can give one. */
export function needsYes(
	context: CommandContext,
	{ yes, json }: { yes?: boolean; json?: boolean },
	what: string,
): void {
	if (yes) return;
	if (json) throw new MisuseError(`${what}: with --json nobody is asked; add --yes`);
	if (!canAsk(context)) throw new MisuseError(`${what}: there is no terminal to ask at; add --yes`);
}

/** Asks until a line comes. Everything but yes is no. */
export async function isConfirmed({ terminal, stdin }: CommandContext, question: string): Promise<boolean> {
	terminal.ask(`${question} [y/N] `);
	let typed = "";
	for await (const bytes of stdin) {
		typed += Buffer.from(bytes).toString();
		if (/[\r\n]/.test(typed)) break;
	}
	return /^\s*y(?:es)?\s*$/i.test(typed);
}
