import type { Command } from "commander";
import type { LaneView } from "../../contract/replies.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { printTable } from "../format/table.ts";
import { length } from "../format/times.ts";
import { examples, type Frame } from "../frame.ts";

interface Flags extends ServerFlags {
	namespace?: string;
}

export function addLanes(program: Command, frame: Frame): void {
	const command = program
		.command("lanes")
		.summary("list lanes and what is in them")
		.description(
			"Lists the lanes of a namespace: how much is in which state, how old the oldest waiting is, how much ends.",
		)
		.option("--namespace <namespace>", "of this tenant");
	asksServer(command).action(({ namespace, ...flags }: Flags) =>
		atServer(frame, flags, async ({ backend }) => {
			const answer = await backend.lanes.list(namespace === undefined ? {} : { namespace });
			if (flags.json) return frame.terminal.json(answer);
			if (answer.lanes.length === 0) return frame.terminal.note("There is nothing in any lane.");
			printTable(
				frame.terminal,
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
				answer.lanes,
			);
		}),
	);
	examples(command, ["flowfabric lanes", "flowfabric lanes --namespace team-a --json"]);
}

function depthText({ depth }: LaneView): string {
	return Object.entries(depth)
		.map(([state, count]) => `${state} ${count}`)
		.join(", ");
}
