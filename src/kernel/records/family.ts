import { list, number, part, type Shapes, text } from "../shape.ts";
import type { PublicState } from "../state.ts";
import type { Key } from "./record.ts";

export const WAIT_MODES = ["all", "any", "first_success"] as const;
/** What has to have come of the children that are waited for. */
export type WaitMode = (typeof WAIT_MODES)[number];

/** What a parent waits for, or waited for last: which children were awaited is asked for until it waits again. */
export interface ChildrenWait {
	/** Which of its waits it is: 1, 2, 3 … */
	number: number;
	mode: WaitMode;
	/** Children up to this number can be among them. */
	upTo: number;
	/** Marks of those that are; empty for all. */
	among: string;
	/** How many they are, how many of them have not ended, and how many have succeeded. */
	total: number;
	left: number;
	succeeded: number;
	/** Left out once the parent may go on. */
	isOpen?: true;
}

/**
 * The children of an execution, as far as it has to know them. It is written whenever one of them ends: so that a wait ends
 * with the last of them, and nobody has to look for that. Which they are is in pages of their own.
 */
export interface FamilyRecord {
	/** Children are numbered from 1. */
	count: number;
	/** How many have ended, and marks of them by number; then of those that succeeded. */
	ended: number;
	endedMarks: string;
	succeededMarks: string;
	/** Bytes of what those that have ended tell their parent. */
	endBytes: number;
	/** How often their parent has waited for some of them. */
	waits: number;
	wait: ChildrenWait | null;
	/** Their parent has ended: the next of them to be cancelled, and the last; 0 for none. */
	cancelFrom: number;
	cancelTo: number;
}

export const familyDefaults: FamilyRecord = {
	count: 0,
	ended: 0,
	endedMarks: "",
	succeededMarks: "",
	endBytes: 0,
	waits: 0,
	wait: null,
	cancelFrom: 0,
	cancelTo: 0,
};

export const familyShapes: Shapes<FamilyRecord> = {
	wait: part({ number, mode: text, upTo: number, among: text, total: number, left: number, succeeded: number }),
};

/** A replay that keeps nothing begins a generation without children. */
export const familyKey = (parentId: string, generation: number): Key<FamilyRecord> => `${parentId}/g${generation}`;

/** Whose children a key is about. */
export function familySubject(key: string): { parentId: string; generation: number } {
	const slash = key.indexOf("/");
	return { parentId: key.slice(0, slash), generation: Number(key.slice(slash + 2)) };
}

/** Children by their number: pages of them lead to all. */
export interface ChildrenPageRecord {
	children: readonly ChildEntry[];
}

export interface ChildEntry {
	key: string;
	executionId: string;
	/** How it had ended, kept when it is replayed although a wait was over with that end, and when it is removed. */
	end?: PublicState;
	/** The attempt that it ended by, unless that is gone. */
	attempt?: number;
	/** The number of that wait. */
	wait?: number;
}

export const childrenPageDefaults: ChildrenPageRecord = { children: Object.freeze([]) as readonly ChildEntry[] };

export const childrenPageShapes: Shapes<ChildrenPageRecord> = {
	children: list(part({ key: text, executionId: text }, { end: text, attempt: number, wait: number })),
};

export const CHILDREN_PER_PAGE = 64;

export const pageOfChild = (number: number): number => Math.floor((number - 1) / CHILDREN_PER_PAGE);

export const childrenPageKey = (parentId: string, generation: number, page: number): Key<ChildrenPageRecord> =>
	`${parentId}/m${generation}.${page}`;

/** Leads from a key to its child. */
export interface ChildNameRecord {
	executionId: string;
	number: number;
}

export const childNameDefaults: ChildNameRecord = { executionId: "", number: 0 };

/** The key may hold anything, so it comes last. */
export const childNameKey = (parentId: string, generation: number, key: string): Key<ChildNameRecord> =>
	`${parentId}/c${generation}.${key}`;

/** Children that an execution may have. */
export const MAX_CHILDREN = 10_000;
