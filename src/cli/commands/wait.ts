import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { durationFlag } from "../flag-values.ts";
import { waitAndTell } from "../waiting.ts";

interface Flags extends ServerFlags {
	timeout?: number;
}

export function addWait(program: Command, context: CommandContext): void {
	const command = program
		.command("wait <id>")
		.summary("wait for an execution to end")
		.description(
			"Waits until an execution ends, shows its progress meanwhile, and how it ended. Exit code 0 if it completed, 6 if it ended otherwise, 7 if the time is over.",
		)
		.option("--timeout <duration>", "wait no longer than this, as in 30s", durationFlag);
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(context, flags, (ff) => {
			const limit = flags.timeout === undefined ? undefined : { timeoutMs: flags.timeout };
			return waitAndTell(context, ff, id, { ...limit, json: flags.json === true });
		}),
	);
	examples(command, ["flowfabric wait ex_… --timeout 5m", "flowfabric wait ex_… --json | jq .result"]);
}
