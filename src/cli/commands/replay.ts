import type { Command } from "commander";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { examples, type Frame } from "../frame.ts";

export function addReplay(program: Command, frame: Frame): void {
	const command = program
		.command("replay <id>")
		.summary("run an ended execution again")
		.description("Runs an execution that has ended once more, with the same input. Its earlier attempts are kept.");
	asksServer(command).action((id: string, flags: ServerFlags) =>
		atServer(frame, flags, async (ff) => {
			const answer = await ff.replay(id);
			if (flags.json) return frame.terminal.json({ id, ...answer });
			frame.terminal.print(`${id} ${answer.publicState} (replay ${answer.replays})`);
		}),
	);
	examples(command, ["flowfabric replay ex_…"]);
}
