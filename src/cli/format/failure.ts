import type { Terminal } from "../terminal.ts";
import { oneLine } from "./table.ts";

/** Name, stack and causes of what a handler threw, line by line; whoever wrote them moves no cursor. */
export function printFailureDetail(terminal: Terminal, detail: string): void {
	for (const line of detail.split("\n")) terminal.print(`  ${terminal.style("dim", oneLine(line))}`);
}
