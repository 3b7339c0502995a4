import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";

interface Flags extends ServerFlags {
	lease?: string;
	reason?: string;
}

export function addRevoke(program: Command, context: CommandContext): void {
	const command = program
		.command("revoke <id>")
		.summary("take an execution away from its worker")
		.description(
			"Revokes the lease of a running execution. The work goes back to the queue, and its worker is told to stop; what it still sends is refused. Exit code 4 if no worker holds it.",
		)
		.option("--lease <id>", "only if it still has this lease (see get), so that no later worker is hit")
		.option("--reason <text>", "the reason; stored in its events");
	asksServer(command).action((id: string, { lease, reason, ...flags }: Flags) =>
		atServer(context, flags, async (ff) => {
			const answer = await ff.revokeLease(id, {
				...(lease === undefined ? undefined : { expectedLeaseId: lease }),
				...(reason === undefined ? undefined : { reason }),
			});
			if (!answer.revoked) context.end("refused");
			if (flags.json) return context.terminal.json({ id, ...answer });
			if (answer.revoked) context.terminal.print(`${id} is back in the queue; lease ${answer.leaseId} is void`);
			else context.terminal.note(`Nobody holds ${id}: nothing was taken away.`);
		}),
	);
	examples(command, [
		"flowfabric revoke ex_… --reason 'its machine hangs'",
		"flowfabric revoke ex_… --lease le_… --json",
	]);
}
