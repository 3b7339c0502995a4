import type { Command } from "commander";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { tagFlag } from "../flag-values.ts";
import { printFields } from "../format/table.ts";
import { oneLine } from "../format/text.ts";
import { listFlag } from "../guard-flags.ts";

interface Flags extends ServerFlags {
	set?: Record<string, string>;
	remove?: string[];
}

export function addTags(program: Command, context: CommandContext): void {
	const command = program
		.command("tags <id>")
		.summary("show, set or remove tags of an execution")
		.description("Shows the tags of an execution, after setting and removing what was asked for.")
		.option("--set <key=value>", "set this tag; may be given several times", tagFlag)
		.option("--remove <key>", "remove this tag; may be given several times", listFlag);
	asksServer(command).action((id: string, { set, remove, ...flags }: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			const { tags } =
				set === undefined && remove === undefined
					? await ff.get(id)
					: await ff.setTags(id, { ...(set && { set }), ...(remove && { remove }) });
			if (flags.json) return terminal.json({ id, tags });
			const rows = Object.entries(tags).map(([key, value]) => [key, oneLine(value) || '""'] as const);
			if (rows.length === 0) return terminal.note(`${id} has no tags.`);
			printFields(terminal, rows);
		}),
	);
	examples(command, [
		"flowfabric tags ex_…",
		"flowfabric tags ex_… --set customer=acme --set region=eu --remove draft",
		"flowfabric list --tag customer=acme",
	]);
}
