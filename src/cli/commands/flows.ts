import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import type { CancelFlowRequest, CreateFlowRequest } from "../../contract/flows.ts";
import { CANCEL_POLICIES } from "../../kernel/records/flow.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags, withFullIds } from "../connection.ts";
import { MisuseError } from "../exit-codes.ts";
import { durationFlag, numberFlag } from "../flag-values.ts";
import { showFlow, watchFlow } from "../flow-watch.ts";
import { printFlows } from "../format/flow.ts";
import { readAll } from "../stdin.ts";

interface ListFlags extends ServerFlags {
	namespace?: string;
	kind?: string;
	limit?: number;
	cursor?: string;
}

interface ShowFlags extends ServerFlags {
	watch?: boolean;
	all?: boolean;
}

interface CancelFlags extends ServerFlags {
	policy: CancelFlowRequest["policy"];
	reason?: string;
	force?: boolean;
	grace?: number;
	wait?: boolean;
}

export function addFlows(program: Command, context: CommandContext): void {
	const { terminal } = context;
	const command = program
		.command("flows")
		.summary("list flows; create, show, cancel or delete one")
		.description("Lists the flows of a namespace, newest first, a page at a time.")
		.option("--namespace <namespace>", "in this namespace")
		.option("--kind <kind>", "of this kind")
		.option("--limit <number>", "how many per page", numberFlag(1, 1000))
		.option("--cursor <cursor>", "continue after the previous page");
	asksServer(withFullIds(command)).action(({ namespace, kind, limit, cursor, ...flags }: ListFlags) =>
		atServer(context, flags, async (ff) => {
			const page = await ff.flows.list({
				...(namespace === undefined ? undefined : { namespace }),
				...(kind === undefined ? undefined : { kind }),
				...(limit === undefined ? undefined : { limit }),
				...(cursor === undefined ? undefined : { cursor }),
			});
			if (flags.json) return terminal.json(page);
			if (page.flows.length > 0) printFlows(terminal, page.flows, Date.now());
			else if (page.nextCursor === undefined) terminal.note("There are no flows.");
			if (page.nextCursor !== undefined) terminal.note(`There may be more: --cursor ${page.nextCursor}`);
		}),
	);

	below(command, "show <id>", "draw the graph of a flow: states, times, and why what does not run does not")
		.option("-w, --watch", "keep updating until it has ended; exit code 6 if it did not complete")
		.option("--all", "show every node, even if many are alike")
		.action((id: string, _: ShowFlags, self: Command) => {
			const flags = self.optsWithGlobals<ShowFlags>();
			return atServer(context, flags, (ff) => (flags.watch ? watchFlow : showFlow)(context, ff, id, flags));
		});

	below(command, "create <file>", "make the flow that a file of JSON describes; - is what is piped in").action(
		(file: string, _: ServerFlags, self: Command) => {
			const flags = self.optsWithGlobals<ServerFlags>();
			return atServer(context, flags, async (ff) => {
				const made = await ff.flows.create(await flowIn(file, context));
				if (flags.json) return terminal.json(made);
				terminal.print(`${made.id} ${made.created ? "made" : "was there already"}`);
			});
		},
	);

	below(command, "cancel <id>", "cancel a flow: no member of it starts any more")
		.addOption(
			new Option("--policy <policy>", "what becomes of its members").choices(CANCEL_POLICIES).default("cancel_all"),
		)
		.option("--reason <text>", "the reason; stored and shown")
		.option("--grace <duration>", "how long its members' workers may take to stop (30s)", durationFlag)
		.option("--force", "do not wait for workers")
		.option("--wait", "wait until every member has been told")
		.action((id: string, _: CancelFlags, self: Command) => cancel(context, id, self.optsWithGlobals<CancelFlags>()));

	below(command, "delete <id>", "remove every trace of an ended flow and its members").action(
		(id: string, _: ServerFlags, self: Command) => {
			const flags = self.optsWithGlobals<ServerFlags>();
			return atServer(context, flags, async (ff) => {
				const answer = await ff.flows.delete(id);
				if (flags.json) return terminal.json({ id, ...answer });
				terminal.print(`${id} deleted`);
			});
		},
	);
	examples(command, [
		"flowfabric flows",
		"flowfabric flows create release.json",
		"flowfabric flows show fl_… --watch",
		"flowfabric flows cancel fl_… --policy cancel_pending --reason 'wrong branch' --wait",
		"flowfabric flows delete fl_…",
		"flowfabric list --flow fl_… --state failed",
	]);
}

const below = (parent: Command, usage: string, summary: string): Command =>
	asksServer(
		parent
			.command(usage)
			.summary(summary)
			.description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`),
	);

function cancel(context: CommandContext, id: string, flags: CancelFlags): Promise<void> {
	const { terminal } = context;
	const { policy, reason, force, grace, wait = false } = flags;
	return atServer(context, flags, async (ff) => {
		const request = {
			policy,
			...(reason === undefined ? undefined : { reason }),
			...(force ? { mode: "force" as const } : undefined),
			...(grace === undefined ? undefined : { graceMs: grace }),
		};
		const answer = await ff.flows.cancel(id, request, { wait });
		if (answer.status === "partially_cancelled") context.end("timeout");
		if (flags.json) return terminal.json({ id, ...answer });
		const { status, state, memberCount, failedIds = [] } = answer;
		const kept = answer.policy === undefined || answer.policy === policy ? "" : ` with ${answer.policy}`;
		terminal.print(
			status === "scheduled"
				? `${id}: ${memberCount} members are being cancelled with ${policy}`
				: `${id} ${status}${kept}: it is ${state}`,
		);
		for (const each of failedIds) terminal.print(`  ${each} has not ended`);
	});
}

async function flowIn(file: string, { stdin }: CommandContext): Promise<CreateFlowRequest> {
	const bytes = file === "-" ? await readAll(stdin) : await read(file);
	try {
		return JSON.parse(bytes.toString()) as CreateFlowRequest;
	} catch (error) {
		throw new MisuseError(`${file}: is not JSON: ${(error as Error).message}`);
	}
}

async function read(file: string): Promise<Buffer> {
	try {
		return await readFile(file);
	} catch (error) {
		throw new MisuseError(`${file}: cannot be read (${(error as NodeJS.ErrnoException).code})`);
	}
}
