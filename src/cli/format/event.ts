import type { ExecutionEvent } from "../../kernel/events.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./table.ts";
import { absolute } from "./times.ts";

const SHOWN_ELSEWHERE = new Set(["seq", "at", "type", "executionId", "namespace", "flowId", "attempt", "actor"]);

/** One event as a line: when, how long after the first, what, and by whom. */
export function eventLine(terminal: Terminal, event: ExecutionEvent, firstAt: number): string {
	const since = `+${((event.at - firstAt) / 1000).toFixed(3)} s`.padStart(12);
	const attempt = event.attempt === undefined ? "" : ` attempt ${event.attempt}`;
	const details = Object.entries(event)
		.filter(([name]) => !SHOWN_ELSEWHERE.has(name))
		.map(([name, value]) => `${name}=${typeof value === "string" ? oneLine(value) : JSON.stringify(value)}`);
	const rest = [attempt.trim(), `by ${oneLine(event.actor)}`, ...details].filter(Boolean).join(", ");
	return `${terminal.style("dim", absolute(event.at))} ${since}  ${terminal.style("bold", event.type.padEnd(16))} ${rest}`;
}
