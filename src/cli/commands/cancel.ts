import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { durationFlag } from "../flag-values.ts";

interface Flags extends ServerFlags {
	reason?: string;
	force?: boolean;
	grace?: number;
}

export function addCancel(program: Command, context: CommandContext): void {
	const command = program
		.command("cancel <id>")
		.summary("cancel an execution")
		.description(
			"Cancels an execution. One that runs is asked to stop: its worker is told at once and has its grace to end. With --force it is taken away now.",
		)
		.option("--reason <text>", "why; kept and shown")
		.option("--grace <duration>", "how long its worker may take (30s)", durationFlag)
		.option("--force", "do not wait for its worker");
	asksServer(command).action((id: string, { reason, force, grace, ...flags }: Flags) =>
		atServer(context, flags, async (ff) => {
			const answer = await ff.cancel(id, {
				...(reason === undefined ? undefined : { reason }),
				...(force ? { mode: "force" as const } : undefined),
				...(grace === undefined ? undefined : { graceMs: grace }),
			});
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(
				answer.cancelRequested ? `${id}: its worker was asked to stop` : `${id} ${answer.publicState}`,
			);
		}),
	);
	examples(command, [
		"flowfabric cancel ex_… --reason 'the customer changed their mind'",
		"flowfabric cancel ex_… --force",
	]);
}
