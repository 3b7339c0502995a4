import type { Command } from "commander";
import { type BulkFlags, doToMany, oneOrMany, withBulk } from "../bulk.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { type Filter, filterOf } from "../filter-flags.ts";
import { durationFlag } from "../flag-values.ts";

interface Flags extends BulkFlags {
	reason?: string;
	force?: boolean;
	grace?: number;
}

export function addCancel(program: Command, context: CommandContext): void {
	const command = program
		.command("cancel [id]")
		.summary("cancel an execution, or all that a filter finds")
		.description(
			"Cancels an execution. If it is running, its worker is told at once and has a grace period to stop. With --force it is cancelled immediately.\n\nWithout an id, cancels everything the filter finds, at most 1000 per call to the server: it shows what that is, asks, and says how many were cancelled. Ctrl-C stops between calls. Without --state, what has not ended is meant.",
		)
		.option("--reason <text>", "the reason; stored and shown")
		.option("--grace <duration>", "how long its worker may take to stop (30s)", durationFlag)
		.option("--force", "do not wait for its worker")
		.option("--blocking-reason <reason>", "filter: blocked for this reason, as list --reason has them");
	asksServer(withBulk(command)).action((given: string | undefined, { reason, force, grace, ...flags }: Flags) => {
		const id = oneOrMany(given, flags, "cancel");
		if (id === undefined) {
			if (force || grace !== undefined) throw new MisuseError("--force and --grace: only with an id");
			const filter: Filter = { state: "open", ...filterOf(flags) };
			return doToMany(context, flags, { action: "cancel", filter, ...(reason === undefined ? {} : { reason }) });
		}
		return atServer(context, flags, async (ff) => {
			const answer = await ff.cancel(id, {
				...(reason === undefined ? undefined : { reason }),
				...(force ? { mode: "force" as const } : undefined),
				...(grace === undefined ? undefined : { graceMs: grace }),
			});
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(
				answer.cancelRequested ? `${id}: its worker was asked to stop` : `${id} ${answer.publicState}`,
			);
		});
	});
	examples(command, [
		"flowfabric cancel ex_… --reason 'the customer changed their mind'",
		"flowfabric cancel ex_… --force",
		"flowfabric cancel --lane media --state waiting --dry-run",
		"flowfabric cancel --kind report --tag customer=acme --reason 'the customer left' --yes",
	]);
}
