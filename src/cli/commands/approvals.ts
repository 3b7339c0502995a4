import type { Command } from "commander";
import type { InboxRequest } from "../../contract/waitpoints.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags, withFullIds } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { printInbox } from "../format/waitpoints.ts";
import { tellMore } from "../pages.ts";

interface Flags extends ServerFlags, Pick<InboxRequest, "namespace" | "reason" | "key" | "limit" | "cursor"> {
	all?: boolean;
}

export function addApprovals(program: Command, context: CommandContext): void {
	const command = program
		.command("approvals")
		.summary("list executions that wait for a person, longest first")
		.description("Lists open waitpoints that executions are suspended at, longest first, a page at a time.")
		.option("--namespace <namespace>", "in this namespace")
		.option("--reason <reason>", "suspended for this reason, such as waiting_for_approval or paused_by_budget")
		.option("--key <key>", "waitpoints with this key")
		.option("--limit <number>", "how many per page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "continue after the previous page")
		.option("--all", "all pages");
	asksServer(withFullIds(command)).action((flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			let request = requestOf(flags);
			let isAny = false;
			for (;;) {
				const page = await ff.approvals(request);
				const { waitpoints, nextCursor } = page;
				if (flags.json && flags.all) for (const each of waitpoints) terminal.jsonLine(each);
				else if (flags.json) terminal.json(page);
				else if (waitpoints.length > 0) printInbox(terminal, waitpoints, Date.now());
				isAny ||= waitpoints.length > 0;
				if (nextCursor !== undefined && flags.all) {
					request = { ...request, cursor: nextCursor };
					continue;
				}
				if (flags.json) return;
				if (nextCursor !== undefined) tellMore(terminal, nextCursor);
				else if (!isAny) terminal.note("Nothing waits for anybody.");
				return;
			}
		}),
	);
	examples(command, [
		"flowfabric approvals",
		"flowfabric approvals --reason waiting_for_approval --namespace team-a",
		"flowfabric approvals --all --json | jq -r .executionId",
	]);
}

function requestOf({ namespace, reason, key, limit, cursor }: Flags): InboxRequest {
	return {
		...(namespace === undefined ? undefined : { namespace }),
		...(reason === undefined ? undefined : { reason }),
		...(key === undefined ? undefined : { key }),
		...(limit === undefined ? undefined : { limit }),
		...(cursor === undefined ? undefined : { cursor }),
	};
}
