import type { Command } from "commander";
import type { ListRequest } from "../../contract/executions.ts";
import { PUBLIC_STATES, type PublicState } from "../../kernel/state.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { numberFlag, oneTagFlag, timeFlag } from "../flag-values.ts";
import { printExecutions } from "../format/execution.ts";

interface Flags extends ServerFlags {
	namespace?: string;
	lane?: string;
	state?: PublicState;
	kind?: string;
	flow?: string;
	parent?: string;
	tag?: string;
	createdAfter?: number;
	createdBefore?: number;
	limit?: number;
	cursor?: string;
	all?: boolean;
}

export function addList(program: Command, context: CommandContext): void {
	const command = program
		.command("list")
		.summary("list executions, newest first")
		.description("Lists executions, newest first, a page at a time.")
		.option("--namespace <namespace>", "of this tenant")
		.option("--lane <lane>", "in this lane")
		.option("--state <state>", `in this state: ${PUBLIC_STATES.join(", ")}`)
		.option("--kind <kind>", "of this kind")
		.option("--flow <id>", "members of this flow")
		.option("--parent <id>", "children of this execution")
		.option("--tag <key=value>", "with this tag", oneTagFlag)
		.option("--created-after <time>", "created then or later: a time, or an age such as 2h", timeFlag)
		.option("--created-before <time>", "created before then", timeFlag)
		.option("--limit <number>", "most on a page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "go on where the page before this one ended")
		.option("--all", "every page, one after the other");
	asksServer(command).action((flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			let request = requestOf(flags);
			for (;;) {
				const page = await ff.list(request);
				const { executions, nextCursor } = page;
				if (flags.json && flags.all) for (const each of executions) terminal.jsonLine(each);
				else if (flags.json) terminal.json(page);
				else if (executions.length > 0) printExecutions(terminal, executions, Date.now());
				else if (nextCursor === undefined && request.cursor === undefined) terminal.note("Nothing fits.");
				if (nextCursor === undefined) return;
				if (!flags.all) {
					if (!flags.json) terminal.note(`There may be more: --cursor ${nextCursor}, or --all`);
					return;
				}
				request = { ...request, cursor: nextCursor };
			}
		}),
	);
	examples(command, [
		"flowfabric list --state failed --limit 20",
		"flowfabric list --kind report --tag customer=acme --created-after 2h",
		"flowfabric list --lane media --all",
		"flowfabric list --all --json | jq -r .id",
	]);
}

function requestOf(flags: Flags): ListRequest {
	const { namespace, lane, state, kind, flow, parent, tag, createdAfter, createdBefore, limit, cursor } = flags;
	return {
		...(namespace === undefined ? undefined : { namespace }),
		...(lane === undefined ? undefined : { lane }),
		...(state === undefined ? undefined : { state }),
		...(kind === undefined ? undefined : { kind }),
		...(flow === undefined ? undefined : { flowId: flow }),
		...(parent === undefined ? undefined : { parentId: parent }),
		...(tag === undefined ? undefined : { tag }),
		...(createdAfter === undefined ? undefined : { createdAfter }),
		...(createdBefore === undefined ? undefined : { createdBefore }),
		...(limit === undefined ? undefined : { limit }),
		...(cursor === undefined ? undefined : { cursor }),
	};
}
