import type { Command } from "commander";
import { FlowFabricError } from "../contract/errors.ts";
import { EXIT_CODES, type ExitName } from "./exit-codes.ts";
import type { Environment, Input, Terminal } from "./terminal.ts";

/** What every command is given: where to speak, what is set, and how it says how it ended. */
export interface CommandContext {
	readonly terminal: Terminal;
	readonly env: Environment;
	readonly stdin: Input;
	/** Calls back once, when the process is asked to end (Ctrl-C, SIGTERM); a second signal ends it at once. */
	onStop(listener: () => void): () => void;
	/** How the command ended, when it did not throw. */
	end(how: ExitName): void;
}

/** Adds a command; the table of them is in `program.ts`. */
export type AddCommand = (program: Command, context: CommandContext) => void;

/** Lines of a shell that show how a command is used, below its help. */
export function examples(command: Command, lines: readonly string[]): Command {
	return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}`);
}

export function exitCodeHelp(): string {
	const rows = Object.values(EXIT_CODES).map(({ code, about }) => `  ${code}  ${about}`);
	return `\nExit codes:\n${rows.join("\n")}`;
}

/** An error as one line, and as the document scripts get. */
export function describeError(error: unknown): { line: string; body: Record<string, unknown> } {
	if (error instanceof FlowFabricError) {
		const { code, message, retryable, details } = error;
		return { line: `${message} (${code})`, body: { code, message, retryable, details } };
	}
	const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
	// What is not known comes with a second line that says what was probably meant.
	const [firstLine = name, suggestion = ""] = message.replace(/^error: /, "").split("\n");
	const line = /^\(Did you mean/.test(suggestion) ? `${firstLine} ${suggestion}` : firstLine;
	return { line, body: { code: name, message: line, retryable: false } };
}
