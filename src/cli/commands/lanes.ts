import type { Command } from "commander";
import { MAX_AGING_MS } from "../../contract/lanes.ts";
import type { LaneView } from "../../contract/replies.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { printTable } from "../format/table.ts";
import { length } from "../format/times.ts";
import { allLanes, knownLane } from "../lanes.ts";

interface Flags extends ServerFlags {
	namespace?: string;
}

interface ChangeFlags extends Flags {
	yes?: boolean;
}

export function addLanes(program: Command, context: CommandContext): void {
	const command = program
		.command("lanes")
		.summary("list lanes and what is in them; pause, resume, drain or set one")
		.description(
			"Lists the lanes of a namespace: executions by state, the age of the oldest waiting one, and throughput.",
		)
		.option("--namespace <namespace>", "in this namespace");
	asksServer(command).action(({ namespace, ...flags }: Flags) =>
		atServer(context, flags, async ({ backend }) => {
			const all = await allLanes(backend, namespace === undefined ? {} : { namespace });
			if (flags.json) return context.terminal.json({ lanes: all });
			if (all.length === 0) return context.terminal.note("There is nothing in any lane.");
			printTable(
				context.terminal,
				[
					{ title: "LANE", cell: ({ lane }) => lane, least: 12 },
					{ title: "STATE", cell: ({ state }) => state },
					{
						title: "OLDEST WAITING",
						cell: ({ oldestWaitingMs }) => (oldestWaitingMs === undefined ? "" : length(oldestWaitingMs)),
						align: "right",
					},
					{ title: "PER MINUTE", cell: ({ perMinute }) => String(perMinute), align: "right" },
					{ title: "DEPTH", cell: depthText, least: 20 },
				],
				all,
			);
		}),
	);
	for (const [name, summary] of CHANGES) {
		const change = command
			.command(`${name} <lane>`)
			.summary(summary)
			.description(`${summary[0]?.toUpperCase()}${summary.slice(1)}. ${OF_UNKNOWN}`)
			.option("--yes", "do not ask, even if no lane of this name has been used")
			.option("--namespace <namespace>", "in this namespace");
		asksServer(change).action((lane: string, _: Flags, self: Command) => {
			const flags = self.optsWithGlobals<ChangeFlags>();
			return atServer(context, flags, async ({ backend }) => {
				const before = await knownLane(context, backend, lane, flags);
				if (before === "no") return;
				const answer = await backend.lanes[name](lane, tenant(flags));
				if (flags.json) return context.terminal.json(answer);
				context.terminal.print(`${answer.lane} ${answer.state}`);
				if (name === "drain" && before?.state === "paused") context.terminal.print(opened(before));
			});
		});
	}
	const set = command
		.command("set <lane>")
		.summary("change a lane's settings")
		.description(`Changes a lane's settings, for work submitted from then on. ${OF_UNKNOWN}`)
		.option("--yes", "do not ask, even if no lane of this name has been used")
		.requiredOption("--aging-ms <ms>", "how much waiting one step of priority is worth", numberFlag(0, MAX_AGING_MS))
		.option("--namespace <namespace>", "in this namespace");
	asksServer(set).action((lane: string, _: Flags, self: Command) => {
		// Flags that the list has too are taken by it, wherever they stand.
		const { agingMs, ...flags } = self.optsWithGlobals<ChangeFlags & { agingMs: number }>();
		return atServer(context, flags, async ({ backend }) => {
			if ((await knownLane(context, backend, lane, flags)) === "no") return;
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
	["drain", "take no new work, and hand out what is queued, also if it was paused"],
] as const;

const OF_UNKNOWN = "If no lane of this name has been used, the command asks first; without a terminal it needs --yes.";

const QUEUED = ["waiting", "delayed", "rate_limited"] as const;

/** What a paused lane held back now runs, which not everybody expects of an end. */
function opened({ depth }: LaneView): string {
	const queued = QUEUED.reduce((sum, state) => sum + (depth[state] ?? 0), 0);
	const what = queued === 1 ? "1 execution" : `${queued} executions`;
	return `It was paused. Draining opens it for the ${what} queued in it; new work is refused.`;
}

const tenant = ({ namespace }: Flags): { namespace?: string } => (namespace === undefined ? {} : { namespace });

function depthText({ depth }: LaneView): string {
	return Object.entries(depth)
		.map(([state, count]) => `${state} ${count}`)
		.join(", ");
}
