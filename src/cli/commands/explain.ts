import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { printFailureDetail } from "../format/failure.ts";
import { printFields } from "../format/table.ts";
import { oneLine } from "../format/text.ts";

export function addExplain(program: Command, context: CommandContext): void {
	const command = program
		.command("explain <id>")
		.summary("explain why an execution is not running")
		.description(
			"Explains why an execution is not running: what is ahead of it on its lane, which capability no worker offers, whether its lane is paused, what it waits for.",
		);
	asksServer(command).action((id: string, flags: ServerFlags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			const told = await ff.explain(id);
			if (flags.json) return terminal.json(told);
			terminal.print(`${id} ${terminal.style("bold", told.publicState)}`);
			for (const reason of told.reasons) terminal.print(`  ${oneLine(reason)}`);
			if (told.failure?.detail) printFailureDetail(terminal, told.failure.detail);
			terminal.print();
			const { position, workers, lane, missingCapabilities, suspension } = told;
			printFields(terminal, [
				["lane", `${lane.name} (${lane.state})`],
				...(position
					? [["position", `${position.exact ? "" : "at least "}${position.ahead + 1}`] as [string, string]]
					: []),
				...(workers ? [["workers", `${workers.live} live, ${workers.able} could take it`] as [string, string]] : []),
				...(suspension
					? [
							["waitpoints", suspension.waitpoints.map(({ key }) => oneLine(key)).join(", ")] as [string, string],
							["signals", `${suspension.signals} came that count`] as [string, string],
						]
					: []),
				...(missingCapabilities ? [["nobody offers", missingCapabilities.join(", ")] as [string, string]] : []),
			]);
		}),
	);
	examples(command, ["flowfabric explain ex_…", "flowfabric explain ex_… --json | jq -r .summary"]);
}
