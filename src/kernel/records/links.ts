import { flag, list, number, part, type Shapes, text } from "../shape.ts";
import type { PublicState, TerminalOutcome } from "../state.ts";
import { type Key, makeRecord } from "./record.ts";

export const EDGE_CONDITIONS = ["success", "failure", "completion"] as const;
export type EdgeCondition = (typeof EDGE_CONDITIONS)[number];

/** An edge as its upstream has it. */
export interface OutEdge {
	id: string;
	/** The execution downstream, and the place of this edge among those that lead to it. */
	to: string;
	place: number;
	on: EdgeCondition;
	passResultAs?: string;
	/** An end before the last replay satisfied it, and that stays. What the last end made of it goes without saying. */
	isKept?: true;
}

export type EdgeState = "satisfied" | "impossible";

/** How an upstream ended, as far as its edges are concerned. */
export interface EdgeEnd {
	outcome: TerminalOutcome;
	/** It was cancelled since nobody needed it any more. */
	isSpared: boolean;
}

/** An edge as its downstream has it. */
export interface InEdge {
	/** The execution upstream. */
	from: string;
	passResultAs?: string;
	/** Once it is satisfied by a name: how the upstream ended, and which attempt of it did, whose result is passed. */
	end?: PublicState;
	attempt?: number;
}

/**
 * The edges of a member, some of each direction a page: whoever goes through them reads pages by their number, so no index
 * has to be complete. The first page tells how many there are, and what is still to be done with them.
 */
export interface LinksRecord {
	out: readonly OutEdge[];
	in: readonly InEdge[];

	outs: number;
	ins: number;
	/** Its end: the next edge downstream to be resolved; -1 for none, as in all that follow. */
	resolveFrom: number;
	/** Its replay: the next edge downstream to be opened again, behind the last one, and how it had ended. */
	reopenFrom: number;
	reopenTo: number;
	reopenAfter: EdgeEnd | null;
	/** Its group is satisfied: the next edge upstream whose other end has nothing to run for any more. */
	remainingFrom: number;
}

export const linksDefaults: LinksRecord = {
	out: Object.freeze([]) as readonly OutEdge[],
	in: Object.freeze([]) as readonly InEdge[],
	outs: 0,
	ins: 0,
	resolveFrom: -1,
	reopenFrom: -1,
	reopenTo: 0,
	reopenAfter: null,
	remainingFrom: -1,
};

export const linksShapes: Shapes<LinksRecord> = {
	out: list(part({ id: text, to: text, place: number, on: text }, { passResultAs: text })),
	in: list(part({ from: text }, { passResultAs: text, end: text, attempt: number })),
	reopenAfter: part({ outcome: text, isSpared: flag }),
};

export const LINKS_PER_PAGE = 64;

export const pageOfLink = (index: number): number => Math.floor(index / LINKS_PER_PAGE);

export const linksKey = (executionId: string, page = 0): Key<LinksRecord> => `${executionId}/e${page}`;

/** The execution whose edges a key is about. */
export const linksSubject = (key: string): string => key.slice(0, key.indexOf("/"));

export const makeLinks = (fields: Partial<LinksRecord>): LinksRecord => makeRecord(linksDefaults, fields);

/** Whether something is still to be done with the edges of a member. */
export const isBusyWithLinks = ({
	resolveFrom,
	reopenFrom,
	remainingFrom,
}: Pick<LinksRecord, "resolveFrom" | "reopenFrom" | "remainingFrom">): boolean =>
	resolveFrom >= 0 || reopenFrom >= 0 || remainingFrom >= 0;
