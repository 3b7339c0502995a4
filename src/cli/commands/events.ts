import type { Command } from "commander";
import type { FlowFabric } from "../../library/flowfabric.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { eventLine } from "../format/event.ts";
import { examples, type Frame } from "../frame.ts";

interface Flags extends ServerFlags {
	follow?: boolean;
}

const PAGE = 200;
const LOOK_MS = 500;

export function addEvents(program: Command, frame: Frame): void {
	const command = program
		.command("events <id>")
		.summary("show what happened to an execution")
		.description("Shows everything that happened to an execution, oldest first. With --json, one event a line.")
		.option("-f, --follow", "go on until it has ended");
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(frame, flags, (ff) => printHistory(frame, ff, id, flags)),
	);
	examples(command, ["flowfabric events ex_…", "flowfabric events ex_… --follow --json | jq -r .type"]);
}

async function printHistory({ terminal }: Frame, ff: FlowFabric, id: string, { json, follow }: Flags): Promise<void> {
	let cursor: string | undefined;
	let firstAt: number | undefined;
	// Asked before the events are read: what an ended execution had to say is then among them.
	let over = follow ? await hasEnded(ff, id, 0) : true;
	for (;;) {
		const page = await ff.events(id, { limit: PAGE, ...(cursor === undefined ? undefined : { cursor }) });
		for (const event of page.events) {
			firstAt ??= event.at;
			if (json) terminal.jsonLine(event);
			else terminal.print(eventLine(terminal, event, firstAt));
		}
		cursor = page.nextCursor;
		if (page.events.length > 0) continue;
		if (over) return;
		over = await hasEnded(ff, id, LOOK_MS);
	}
}

async function hasEnded(ff: FlowFabric, id: string, timeoutMs: number): Promise<boolean> {
	return (await ff.wait(id, { timeoutMs })).state.lifecyclePhase === "terminal";
}
