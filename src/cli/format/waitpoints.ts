import type { InboxItem, WaitpointView } from "../../contract/replies.ts";
import type { Terminal } from "../terminal.ts";
import { printTable } from "./table.ts";
import { readable, relative } from "./times.ts";

const namesOf = (names: readonly string[]): string => names.join(", ") || "any";

export function printInbox(terminal: Terminal, items: readonly InboxItem[], now: number): void {
	printTable(
		terminal,
		[
			{ title: "SINCE", cell: ({ since }) => relative(since, now) },
			{ title: "WHY", cell: ({ detail }) => readable(detail, now), least: 16 },
			{ title: "SIGNALS", cell: ({ requiredSignalNames }) => namesOf(requiredSignalNames), least: 8 },
			{ title: "KEY", cell: ({ key }) => key, least: 8 },
			{ title: "KIND", cell: ({ kind }) => kind, least: 8 },
			{ title: "EXECUTION", cell: ({ executionId }) => executionId, isId: true },
			{ title: "TIMEOUT", cell: ({ timeoutAt }) => (timeoutAt === undefined ? "" : relative(timeoutAt, now)) },
		],
		items,
	);
}

/** The open waitpoints of one execution. */
export function printWaitpoints(terminal: Terminal, waitpoints: readonly WaitpointView[], now: number): void {
	printTable(
		terminal,
		[
			{ title: "WAITPOINT", cell: ({ key }) => key, least: 10 },
			{ title: "STATE", cell: ({ state }) => state },
			{ title: "SIGNALS", cell: ({ requiredSignalNames }) => namesOf(requiredSignalNames), least: 8 },
			{ title: "SINCE", cell: ({ activatedAt, createdAt }) => relative(activatedAt ?? createdAt, now) },
			{ title: "ID", cell: ({ id }) => id, isId: true },
		],
		waitpoints,
	);
}
