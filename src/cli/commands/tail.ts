import type { Command } from "commander";
import type { TailOptions } from "../../library/tail.ts";
import { type CommandContext, examples } from "../command-context.ts";
import { asksServer, atServer, type ServerFlags } from "../connection.ts";
import { numberFlag } from "../flag-values.ts";
import { FramePrinter } from "../format/frames.ts";
import { STATE_STYLES } from "../format/states.ts";
import { oneLine } from "../format/text.ts";

interface Flags extends ServerFlags {
	attempt?: number;
	after?: string;
}

export function addTail(program: Command, context: CommandContext): void {
	const command = program
		.command("tail <id>")
		.summary("show what an execution streams while it runs")
		.description(
			"Shows what the handler of an execution writes, as it comes, until the execution has ended. Text runs on; a new\nattempt is marked, and other frames have a line each. With --json, one frame a line.",
		)
		.option("--attempt <index>", "begin with this attempt (0)", numberFlag(0, 1_000_000))
		.option("--after <id>", "in that attempt, begin after this frame; end for only what comes from now on");
	asksServer(command).action((id: string, flags: Flags) =>
		atServer(context, flags, async (ff) => {
			const { terminal } = context;
			const stopping = new AbortController();
			const release = context.onStop(() => stopping.abort());
			const printer = new FramePrinter(terminal);
			try {
				for await (const frame of ff.tail(id, optionsOf(flags, stopping.signal))) {
					if (flags.json) terminal.jsonLine(frame);
					else printer.show(frame);
				}
			} finally {
				release();
				printer.end();
			}
			if (stopping.signal.aborted) return;
			const { publicState, failure, cancel } = await ff.get(id);
			const why = failure?.reason ?? cancel?.reason;
			const state = terminal.noteStyle(STATE_STYLES[publicState], publicState);
			if (!flags.json) terminal.note(`${id} ${state}${why === undefined ? "" : `: ${oneLine(why)}`}`);
			if (publicState !== "completed") context.end("unsuccessful");
		}),
	);
	examples(command, [
		"flowfabric tail ex_…",
		"flowfabric tail ex_… --attempt 2 --after end",
		"flowfabric tail ex_… --json | jq -r .text",
	]);
}

const optionsOf = ({ attempt, after }: Flags, signal: AbortSignal): TailOptions => ({
	...(attempt === undefined ? undefined : { attempt }),
	...(after === undefined ? undefined : { after }),
	signal,
});
