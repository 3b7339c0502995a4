import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { printAttempts } from "../format/attempts.ts";

export function addAttempts(program: Command, context: CommandContext): void {
	const command = program
		.command("attempts <id>")
		.summary("show every run of an execution, and what went wrong in each")
		.description(
			"Shows every attempt of an execution, oldest first: how it ended and why, how long it took, and on which worker. What its handler threw follows, with the stack; a terminal shows only the first lines of a long one.",
		);
	asksServer(command).action((id: string, flags: ServerFlags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			const attempts = await ff.attempts(id);
			if (flags.json) return terminal.json({ id, attempts });
			if (attempts.length > 0) return printAttempts(terminal, attempts, Date.now());
			const { publicState, blockingDetail } = await ff.get(id);
			terminal.note(`${id} has not run yet: it is ${publicState}${blockingDetail && `, ${blockingDetail}`}.`);
		}),
	);
	examples(command, [
		"flowfabric attempts ex_…",
		"flowfabric attempts ex_… --json | jq -r '.attempts[-1].failure.detail'",
	]);
}
