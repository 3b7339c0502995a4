import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { wholeNumber } from "../settings/values.ts";

const priorityOf = wholeNumber(0, 9000);

export function addPriority(program: Command, context: CommandContext): void {
	const command = program
		.command("priority <id> <number>")
		.summary("change how soon an execution runs")
		.description("Changes the priority of an execution that has not ended: 0 to 9000, higher runs first.");
	asksServer(command).action((id: string, text: string, flags: ServerFlags) => {
		const priority = priorityOf(text);
		if (priority === undefined) throw new MisuseError("number: must be an integer from 0 to 9000");
		return atServer(context, flags, async (ff) => {
			const answer = await ff.changePriority(id, { priority });
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} priority ${answer.priority}`);
		});
	});
	examples(command, ["flowfabric priority ex_… 100", "flowfabric priority ex_… 0 --json"]);
}
