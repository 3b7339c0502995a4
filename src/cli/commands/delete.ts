import type { Command } from "commander";
import { type BulkFlags, doToMany, oneOrMany, withBulk } from "../bulk.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer } from "../connection.ts";
import { filterOf } from "../filter-flags.ts";

export function addDelete(program: Command, context: CommandContext): void {
	const command = program
		.command("delete [id]")
		.summary("remove an ended execution, or all that a filter finds")
		.description(
			"Removes every trace of an execution that has ended: its input, result, attempts, events and streams. A member of a flow goes with its flow (flows delete).\n\nWithout an id, deletes everything the filter finds, at most 1000 per call to the server: it shows what that is, asks, and says how many were deleted. Ctrl-C stops between calls. Without --state, what has ended is meant.",
		);
	asksServer(withBulk(command)).action((given: string | undefined, flags: BulkFlags) => {
		const id = oneOrMany(given, flags, "delete");
		if (id === undefined) {
			return doToMany(context, flags, { action: "delete", filter: { state: "ended", ...filterOf(flags) } });
		}
		return atServer(context, flags, async (ff) => {
			const answer = await ff.delete(id);
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} deleted`);
		});
	});
	examples(command, [
		"flowfabric delete ex_…",
		"flowfabric delete --created-before 30d --dry-run",
		"flowfabric delete --lane media --state cancelled --yes",
	]);
}
