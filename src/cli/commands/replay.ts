import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";

export function addReplay(program: Command, context: CommandContext): void {
	const command = program
		.command("replay <id>")
		.summary("run an ended execution again")
		.description("Runs an execution that has ended once more, with the same input. Its earlier attempts are kept.");
	asksServer(command).action((id: string, flags: ServerFlags) =>
		atServer(context, flags, async (ff) => {
			const answer = await ff.replay(id);
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} ${answer.publicState} (replay ${answer.replays})`);
		}),
	);
	examples(command, ["flowfabric replay ex_…"]);
}
