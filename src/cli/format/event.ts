import type { ExecutionEvent } from "../../kernel/events.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./text.ts";
import { absolute, when } from "./times.ts";

const SHOWN_ELSEWHERE = new Set(["seq", "at", "type", "executionId", "namespace", "flowId", "attempt", "actor"]);

/** How far a line of an event is indented where it is wrapped: the id of a lease still has room behind it. */
const HANG = 29;

/**
 * Tells one event: how long after the first, what, and by whom. A pipe is told the exact time, too; a person is told that
 * of the first event, by `printSince`.
 */
export function printEvent(terminal: Terminal, event: ExecutionEvent, firstAt: number): void {
	const since = after(event.at, firstAt).padStart(11);
	const attempt = event.attempt === undefined ? "" : ` attempt ${event.attempt}`;
	const details = Object.entries(event)
		.filter(([name]) => !SHOWN_ELSEWHERE.has(name))
		.map(([name, value]) => `${name}=${shown(terminal, name, value, firstAt)}`);
	const rest = [attempt.trim(), `by ${oneLine(event.actor)}`, ...details].filter(Boolean).join(", ");
	const line = `${since} ${terminal.style("bold", event.type.padEnd(16))} ${rest}`;
	terminal.print(terminal.isTTY ? line : `${absolute(event.at)} ${line}`, { hang: HANG });
}

const after = (at: number, firstAt: number): string => `+${((at - firstAt) / 1000).toFixed(3)} s`;

/** A person is told of other times, too, how long after the first event they are. */
function shown(terminal: Terminal, name: string, value: unknown, firstAt: number): string {
	if (typeof value === "string") return oneLine(value);
	if (terminal.isTTY && typeof value === "number" && name.endsWith("At")) return after(value, firstAt);
	return JSON.stringify(value);
}

export function printSince(terminal: Terminal, firstAt: number): void {
	if (terminal.isTTY) terminal.print(terminal.style("dim", `since ${when(firstAt, Date.now())}`));
}
