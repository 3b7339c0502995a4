import type { Command } from "commander";
import type { InboxRequest } from "../../contract/waitpoints.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags, withFullIds } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { printInbox } from "../format/waitpoints.ts";

interface Flags extends ServerFlags, Pick<InboxRequest, "namespace" | "reason" | "key" | "limit" | "cursor"> {
	all?: boolean;
}

export function addApprovals(program: Command, context: CommandContext): void {
	const command = program
		.command("approvals")
		.summary("list what waits for a person, longest first")
		.description("Lists open waitpoints that executions are suspended at, longest first, a page at a time.")
		.option("--namespace <namespace>", "of this tenant")
		.option("--reason <reason>", "suspended for this reason, such as waiting_for_approval or paused_by_budget")
		.option("--key <key>", "at waitpoints of this key")
		.option("--limit <number>", "most on a page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "go on where the page before this one ended")
		.option("--all", "every page, one after the other");
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
				if (nextCursor !== undefined) terminal.note(`There may be more: --cursor ${nextCursor}, or --all`);
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
