import type { Terminal } from "../terminal.ts";
import { oneLine } from "./text.ts";

const INDENT = "    ";
/** Lines of a stack that a screen has room for. */
const MOST_LINES = 12;

/** Name, stack and causes of what a handler threw, line by line. A terminal gets the first of many, a pipe all. */
export function printFailureDetail(terminal: Terminal, detail: string): void {
	const lines = detail.trimEnd().split("\n").map(oneLine);
	const shown = terminal.isTTY ? lines.slice(0, MOST_LINES) : lines;
	for (const line of shown) terminal.print(INDENT + terminal.style("dim", line), { hang: 2 * INDENT.length });
	if (shown.length < lines.length)
		terminal.print(`${INDENT}… ${lines.length - shown.length} more lines; --json has them all`);
}
