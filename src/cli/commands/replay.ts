import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";

interface Flags extends ServerFlags {
	keepSteps?: boolean;
}

export function addReplay(program: Command, context: CommandContext): void {
	const command = program
		.command("replay <id>")
		.summary("run an ended execution again")
		.description("Runs an execution that has ended once more, with the same input. Its earlier attempts are kept.")
		.option("--keep-steps", "go on where it stopped: steps that are recorded do not run again");
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const answer = await ff.replay(id, flags.keepSteps ? { keepSteps: true } : {});
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} ${answer.publicState} (replay ${answer.replays})`);
		}),
	);
	examples(command, ["flowfabric replay ex_…", "flowfabric replay ex_… --keep-steps"]);
}
