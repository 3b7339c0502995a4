import type { Command } from "commander";
import { type BulkFlags, doToMany, oneOrMany, withBulk } from "../bulk.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { filterOf } from "../filter-flags.ts";

interface Flags extends BulkFlags {
	keepSteps?: boolean;
}

export function addReplay(program: Command, context: CommandContext): void {
	const command = program
		.command("replay [id]")
		.summary("run an ended execution again, or all that a filter finds")
		.description(
			"Runs an execution that has ended once more, with the same input. Its earlier attempts are kept.\n\nWithout an id, replays everything the filter finds, at most 1000 per call to the server: it shows what that is, asks, and says how many were replayed. Ctrl-C stops between calls. The filter must say --state, as in --state failed.",
		)
		.option("--keep-steps", "with an id: continue where it stopped; recorded steps do not run again");
	asksServer(withBulk(command)).action((given: string | undefined, flags: Flags) => {
		const id = oneOrMany(given, flags, "replay");
		if (id === undefined) {
			if (flags.keepSteps) throw new MisuseError("--keep-steps: only with an id");
			if (flags.state === undefined)
				throw new MisuseError(
					"--state: is needed to replay by filter, as in --state failed; completed work runs again, too",
				);
			return doToMany(context, flags, { action: "replay", filter: filterOf(flags) });
		}
		return atServer(context, flags, async (ff) => {
			const answer = await ff.replay(id, flags.keepSteps ? { keepSteps: true } : {});
			if (flags.json) return context.terminal.json({ id, ...answer });
			context.terminal.print(`${id} ${answer.publicState} (replay ${answer.replays})`);
		});
	});
	examples(command, [
		"flowfabric replay ex_…",
		"flowfabric replay ex_… --keep-steps",
		"flowfabric replay --state failed --kind report --created-after 2h --dry-run",
		"flowfabric replay --state failed,expired --lane media --yes --json",
	]);
}
