import type { ExecutionRecord } from "../records/execution.ts";
import {
	type EdgeEnd,
	type EdgeState,
	type InEdge,
	isBusyWithLinks,
	LINKS_PER_PAGE,
	type LinksRecord,
	linksDefaults,
	linksKey,
	type OutEdge,
	pageOfLink,
} from "../records/links.ts";
import { amend } from "../records/record.ts";
import { hasEnded } from "../state.ts";
import type { Tx } from "../tx.ts";
import type { FlowStep } from "./flow-step.ts";
import { edgeStateAfter } from "./groups.ts";

/** The first page of a member's edges, which tells of all. */
export const linksOf = (tx: Tx, executionId: string): LinksRecord => tx.get(linksKey(executionId)) ?? linksDefaults;

export const outEdge = (tx: Tx, executionId: string, index: number): OutEdge | undefined =>
	tx.get(linksKey(executionId, pageOfLink(index)))?.out[index % LINKS_PER_PAGE];

export const inEdge = (tx: Tx, executionId: string, index: number): InEdge | undefined =>
	tx.get(linksKey(executionId, pageOfLink(index)))?.in[index % LINKS_PER_PAGE];

export function putOutEdge(tx: Tx, executionId: string, index: number, edge: OutEdge): void {
	const key = linksKey(executionId, pageOfLink(index));
	const links = tx.get(key) ?? linksDefaults;
	const out = [...links.out];
	out[index % LINKS_PER_PAGE] = edge;
	tx.put(key, amend(links, { out }));
}

export function putInEdge(tx: Tx, executionId: string, index: number, edge: InEdge): void {
	const key = linksKey(executionId, pageOfLink(index));
	const links = tx.get(key) ?? linksDefaults;
	const all = [...links.in];
	all[index % LINKS_PER_PAGE] = edge;
	tx.put(key, amend(links, { in: all }));
}

/** Who was asked to stop, since nobody needed it any more, and completed all the same has completed. */
export const endOf = ({ terminalOutcome, cancel }: ExecutionRecord): EdgeEnd => ({
	outcome: terminalOutcome,
	isSpared: terminalOutcome === "cancelled" && cancel?.isSpared === true,
});

/**
 * What became of an edge; undefined while that is open. It is not written: it follows from how the upstream ended, and from
 * how far its edges have been gone through.
 */
export function edgeStateOf(
	{ isKept, on }: OutEdge,
	index: number,
	upstream: ExecutionRecord,
	{ resolveFrom }: Pick<LinksRecord, "resolveFrom">,
): EdgeState | undefined {
	if (isKept) return "satisfied";
	if (!hasEnded(upstream) || (resolveFrom >= 0 && index >= resolveFrom)) return undefined;
	return edgeStateAfter(on, endOf(upstream));
}

/** What is still to be done with a member's edges: its flow does not end before that is done. */
export type LinkTasks = Partial<
	Pick<LinksRecord, "resolveFrom" | "reopenFrom" | "reopenTo" | "reopenAfter" | "remainingFrom">
>;

export function putTasks(step: FlowStep, executionId: string, tasks: LinkTasks): void {
	const before = linksOf(step.tx, executionId);
	const after = amend<LinksRecord>(before, tasks);
	step.tx.put(linksKey(executionId), after);
	step.count({ busy: Number(isBusyWithLinks(after)) - Number(isBusyWithLinks(before)) });
}
