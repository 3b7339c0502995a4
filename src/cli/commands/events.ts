import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { printEvent, printSince } from "../format/event.ts";
import { historyOf } from "../history.ts";

interface Flags extends ServerFlags {
	follow?: boolean;
}

export function addEvents(program: Command, context: CommandContext): void {
	const command = program
		.command("events <id>")
		.summary("show what happened to an execution")
		.description("Shows everything that happened to an execution, oldest first. With --json, one event a line.")
		.option("-f, --follow", "keep printing until it has ended");
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			let firstAt: number | undefined;
			for await (const event of historyOf(ff, id, { follow: flags.follow === true })) {
				if (flags.json) terminal.jsonLine(event);
				else {
					if (firstAt === undefined) printSince(terminal, event.at);
					firstAt ??= event.at;
					printEvent(terminal, event, firstAt);
				}
			}
		}),
	);
	examples(command, ["flowfabric events ex_…", "flowfabric events ex_… --follow --json | jq -r .type"]);
}
