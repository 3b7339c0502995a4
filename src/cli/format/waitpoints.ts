import type { InboxItem, WaitpointView } from "../../contract/replies.ts";
import type { Terminal } from "../terminal.ts";
import { printTable } from "./table.ts";
import { relative } from "./times.ts";

const namesOf = (names: readonly string[]): string => names.join(", ") || "any";

export function printInbox(terminal: Terminal, items: readonly InboxItem[], now: number): void {
	printTable(
		terminal,
		[
			{ title: "EXECUTION", cell: ({ executionId }) => executionId },
			{ title: "KIND", cell: ({ kind }) => kind },
			{ title: "KEY", cell: ({ key }) => key },
			{ title: "SIGNALS", cell: ({ requiredSignalNames }) => namesOf(requiredSignalNames) },
			{ title: "SINCE", cell: ({ since }) => relative(since, now) },
			{ title: "TIMEOUT", cell: ({ timeoutAt }) => (timeoutAt === undefined ? "" : relative(timeoutAt, now)) },
			{ title: "DETAIL", cell: ({ detail }) => detail },
		],
		items,
	);
}

/** The open waitpoints of one execution. */
export function printWaitpoints(terminal: Terminal, waitpoints: readonly WaitpointView[], now: number): void {
	printTable(
		terminal,
		[
			{ title: "WAITPOINT", cell: ({ key }) => key },
			{ title: "STATE", cell: ({ state }) => state },
			{ title: "SIGNALS", cell: ({ requiredSignalNames }) => namesOf(requiredSignalNames) },
			{ title: "SINCE", cell: ({ activatedAt, createdAt }) => relative(activatedAt ?? createdAt, now) },
			{ title: "ID", cell: ({ id }) => id },
		],
		waitpoints,
	);
}
