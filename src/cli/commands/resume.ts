import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";

interface Flags extends ServerFlags {
	reason?: string;
}

export function addResume(program: Command, context: CommandContext): void {
	const command = program
		.command("resume <id>")
		.summary("resume a suspended execution, whatever it waits for")
		.description(
			"Resumes a suspended execution, whatever it waits for. Its worker receives the signals that have arrived.",
		)
		.option("--reason <text>", "the reason; stored in its events");
	asksServer(command).action((id: string, { reason, ...flags }: Flags) =>
		atServer(context, flags, async (ff) => {
			const answer = await ff.resume(id, reason === undefined ? {} : { reason });
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} ${answer.publicState}`);
		}),
	);
	examples(command, ["flowfabric resume ex_…", "flowfabric resume ex_… --reason 'checked by hand'"]);
}
