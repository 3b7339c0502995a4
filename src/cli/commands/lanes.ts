import type { Command } from "commander";
import { MAX_AGING_MS } from "../../contract/lanes.ts";
import type { LaneView } from "../../contract/replies.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { printTable } from "../format/table.ts";
import { length } from "../format/times.ts";
import { allPages, WHOLE_PAGE } from "../pages.ts";

interface Flags extends ServerFlags {
	namespace?: string;
}

export function addLanes(program: Command, context: CommandContext): void {
	const command = program
		.command("lanes")
		.summary("list lanes and what is in them; pause, resume, drain or set one")
		.description(
			"Lists the lanes of a namespace: how much is in which state, how old the oldest waiting is, how much ends.",
		)
		.option("--namespace <namespace>", "of this tenant");
	asksServer(command).action(({ namespace, ...flags }: Flags) =>
		atServer(context, flags, async ({ backend }) => {
			const tenant = namespace === undefined ? {} : { namespace };
			const all = await allPages(async (cursor) => {
				const page = await backend.lanes.list({ ...tenant, ...cursor, limit: WHOLE_PAGE });
				return { rows: page.lanes, nextCursor: page.nextCursor };
			});
			if (flags.json) return context.terminal.json({ lanes: all });
			if (all.length === 0) return context.terminal.note("There is nothing in any lane.");
			printTable(
				context.terminal,
				[
					{ title: "LANE", cell: ({ lane }) => lane },
					{ title: "STATE", cell: ({ state }) => state },
					{ title: "PER MINUTE", cell: ({ perMinute }) => String(perMinute), align: "right" },
					{
						title: "OLDEST WAITING",
						cell: ({ oldestWaitingMs }) => (oldestWaitingMs === undefined ? "" : length(oldestWaitingMs)),
						align: "right",
					},
					{ title: "DEPTH", cell: depthText },
				],
				all,
			);
		}),
	);
	for (const [name, summary] of CHANGES) {
		const change = command
			.command(`${name} <lane>`)
			.summary(summary)
			.description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
			.option("--namespace <namespace>", "of this tenant");
		asksServer(change).action((lane: string, _: Flags, self: Command) => {
			const flags = self.optsWithGlobals<Flags>();
			return atServer(context, flags, async ({ backend }) => {
				const answer = await backend.lanes[name](lane, tenant(flags));
				if (flags.json) return context.terminal.json(answer);
				context.terminal.print(`${answer.lane} ${answer.state}`);
			});
		});
	}
	const set = command
		.command("set <lane>")
		.summary("change a lane's settings")
		.description("Changes a lane's settings, for work submitted from then on.")
		.requiredOption("--aging-ms <ms>", "how much waiting one step of priority is worth", numberFlag(0, MAX_AGING_MS))
		.option("--namespace <namespace>", "of this tenant");
	asksServer(set).action((lane: string, _: Flags, self: Command) => {
		// Flags that the list has too are taken by it, wherever they stand.
		const { agingMs, ...flags } = self.optsWithGlobals<Flags & { agingMs: number }>();
		return atServer(context, flags, async ({ backend }) => {
			const answer = await backend.lanes.update(lane, { agingMs }, tenant(flags));
			if (flags.json) return context.terminal.json(answer);
			context.terminal.print(`${answer.lane} ${answer.state}, agingMs ${answer.agingMs}`);
		});
	});
	examples(command, [
		"flowfabric lanes",
		"flowfabric lanes --namespace team-a --json",
		"flowfabric lanes pause media",
		"flowfabric lanes resume media",
		"flowfabric lanes drain old",
		"flowfabric lanes set media --aging-ms 60000",
	]);
}

const CHANGES = [
	["pause", "hand out nothing any more; answers when that holds everywhere"],
	["resume", "open a lane that was paused or draining"],
	["drain", "take no new work, and hand out what is queued"],
] as const;

const tenant = ({ namespace }: Flags): { namespace?: string } => (namespace === undefined ? {} : { namespace });

function depthText({ depth }: LaneView): string {
	return Object.entries(depth)
		.map(([state, count]) => `${state} ${count}`)
		.join(", ");
}
