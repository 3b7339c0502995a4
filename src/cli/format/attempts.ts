import type { AttemptView } from "../../contract/replies.ts";
import type { Style, Terminal } from "../terminal.ts";
import { printFailureDetail } from "./failure.ts";
import { type Column, tableLines } from "./table.ts";
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
		if (attempt.failure?.detail) printFailureDetail(terminal, attempt.failure.detail);
	});
}

function whyOf({ state, failure }: AttemptView): string {
	if (failure) return `${failure.reason} (${failure.category})`;
	return state === "interrupted_reclaimed" ? WHY_LOST : "";
}
