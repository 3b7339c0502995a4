import type { Command } from "commander";
import type { ListRequest } from "../../contract/executions.ts";
import { BLOCKING_REASONS } from "../../kernel/state.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags, withFullIds } from "../connection.ts";
import { type FilterFlags, filterOf, withFilter } from "../filter-flags.ts";
import { numberFlag } from "../flag-values.ts";
import { printExecutions } from "../format/execution.ts";
import { tellMore } from "../pages.ts";
import type { Terminal } from "../terminal.ts";

interface Flags extends ServerFlags, FilterFlags {
	reason?: NonNullable<ListRequest["reason"]>;
	limit?: number;
	cursor?: string;
	all?: boolean;
}

export function addList(program: Command, context: CommandContext): void {
	const command = withFilter(
		program
			.command("list")
			.summary("list executions, newest first")
			.description("Lists executions, newest first, a page at a time."),
	)
		.option("--reason <reason>", `blocked for this reason: ${BLOCKING_REASONS.slice(1).join(", ")}`)
		.option("--limit <number>", "how many per page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "continue after the previous page")
		.option("--all", "all pages");
	asksServer(withFullIds(command)).action((flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			let request = requestOf(flags);
			for (;;) {
				const page = await ff.list(request);
				const { executions, nextCursor } = page;
				if (flags.json && flags.all) for (const each of executions) terminal.jsonLine(each);
				else if (flags.json) terminal.json(page);
				else if (executions.length > 0) printExecutions(terminal, executions, Date.now());
				else if (nextCursor === undefined && request.cursor === undefined) terminal.note("Nothing matches.");
				if (nextCursor === undefined || !flags.all) {
					if (!flags.json) tellRest(terminal, executions.length, nextCursor);
					return;
				}
				request = { ...request, cursor: nextCursor };
			}
		}),
	);
	examples(command, [
		"flowfabric list --state failed --limit 20",
		"flowfabric list --state open --reason waiting_for_capable_worker",
		"flowfabric list --kind report --tag customer=acme --created-after 2h",
		"flowfabric list --lane media --all",
		"flowfabric list --all --json | jq -r .id",
	]);
}

/** What is not on the screen, and how to get it. */
function tellRest(terminal: Terminal, rows: number, nextCursor: string | undefined): void {
	if (nextCursor !== undefined) tellMore(terminal, nextCursor);
	if (rows > 0 && terminal.shortensIds) terminal.note("Ids are shortened; --full-ids shows them whole.");
}

function requestOf({ limit, cursor, reason, ...flags }: Flags): ListRequest {
	return {
		...filterOf(flags),
		...(reason === undefined ? undefined : { reason }),
		...(limit === undefined ? undefined : { limit }),
		...(cursor === undefined ? undefined : { cursor }),
	};
}
