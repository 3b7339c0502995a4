import type { AttemptView } from "../../contract/replies.ts";
import type { Style, Terminal } from "../terminal.ts";
import { type Column, tableLines } from "./table.ts";
import { cutText, oneLine } from "./text.ts";
import { length, relative } from "./times.ts";

/** What the states of an attempt are called on a screen. */
const STATES: Record<AttemptView["state"], { text: string; style: Style }> = {
	started: { text: "running", style: "cyan" },
	suspended: { text: "suspended", style: "magenta" },
	ended_success: { text: "succeeded", style: "green" },
	ended_failure: { text: "failed", style: "red" },
	ended_cancelled: { text: "cancelled", style: "gray" },
	interrupted_reclaimed: { text: "lost", style: "red" },
};

const WHY_LOST = "its worker was not heard of in time";
const INDENT = "    ";
/** Lines of a stack that a screen has room for. */
const MOST_LINES = 12;

/** A line for each attempt, and below it what its handler threw. */
export function printAttempts(terminal: Terminal, attempts: readonly AttemptView[], now: number): void {
	const columns: Column<AttemptView>[] = [
		{ title: "#", cell: ({ index }) => String(index), align: "right" },
		{
			title: "STATE",
			cell: ({ state }) => STATES[state].text,
			paint: (text, { state }) => terminal.style(STATES[state].style, text),
		},
		{ title: "WHY", cell: whyOf, least: 20 },
		{ title: "TOOK", cell: ({ startedAt, endedAt }) => length((endedAt ?? now) - startedAt), align: "right" },
		{ title: "WORKER", cell: ({ workerId }) => workerId, least: 8 },
		{ title: "STARTED", cell: ({ startedAt }) => relative(startedAt, now) },
		{ title: "TYPE", cell: ({ type }) => type },
	];
	const [heading = "", ...rows] = tableLines(terminal, columns, attempts);
	terminal.print(heading);
	attempts.forEach((attempt, n) => {
		terminal.print(rows[n]);
		for (const line of detailLines(terminal, attempt)) terminal.print(INDENT + terminal.style("dim", line));
	});
}

function whyOf({ state, failure }: AttemptView): string {
	if (failure) return `${failure.reason} (${failure.category})`;
	return state === "interrupted_reclaimed" ? WHY_LOST : "";
}

function detailLines(terminal: Terminal, { failure }: AttemptView): string[] {
	const { detail } = (failure ?? {}) as { detail?: string };
	if (!detail) return [];
	const lines = detail.trimEnd().split("\n").map(oneLine);
	const { columns } = terminal;
	if (columns === undefined) return lines;
	const shown = lines.slice(0, MOST_LINES).map((line) => cutText(line, columns - INDENT.length));
	return lines.length > MOST_LINES ? [...shown, `… ${lines.length - MOST_LINES} more lines; --json has all`] : shown;
}
