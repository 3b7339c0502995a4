import type { StepView } from "../../contract/replies.ts";
import type { Terminal } from "../terminal.ts";
import { printTable } from "./table.ts";
import { length } from "./times.ts";

/** The recorded steps of an execution, in the order they were made. */
export function printSteps(terminal: Terminal, steps: readonly StepView[]): void {
	if (steps.length === 0) return terminal.note("No step is recorded.");
	printTable(
		terminal,
		[
			{ title: "STEP", cell: ({ name, index }) => (index === 0 ? name : `${name} #${index}`), least: 16 },
			{ title: "ATTEMPT", cell: ({ attempt }) => String(attempt), align: "right" },
			{ title: "TOOK", cell: ({ durationMs }) => length(durationMs), align: "right" },
			{ title: "BYTES", cell: ({ size }) => String(size), align: "right" },
			{
				title: "ERROR",
				cell: ({ error }) => (error ? `${error.reason} (${error.category})` : ""),
				paint: (text) => terminal.style("red", text),
				least: 20,
			},
		],
		steps,
	);
}
