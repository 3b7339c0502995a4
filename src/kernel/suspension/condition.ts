import type { ErrorCode } from "../errors.ts";
import { flag, list, number, oneOf, part, type Shape, text } from "../shape.ts";

/** What a suspended execution waits for. A node that names no waitpoint means the first of its suspension. */
export type Condition =
	| {
			/** A signal of this name. */
			signal: string;
			/** The key of the waitpoint it must come to (the first of the suspension). */
			waitpoint?: string;
	  }
	| {
			/** A signal of any name. */
			anySignal: true;
			/** The key of the waitpoint it must come to (the first of the suspension). */
			waitpoint?: string;
	  }
	| {
			/** Nothing but an operator ends it. */
			operatorOnly: true;
	  }
	| {
			/** Nothing but its timeout ends it. */
			timeoutOnly: true;
	  }
	| {
			/** All of these must hold. */
			allOf: readonly Condition[];
	  }
	| {
			/** One of these must hold. */
			anyOf: readonly Condition[];
	  }
	| {
			/** So many signals must have come. */
			count: CountCondition;
	  };

export const DISTINCT_BY = ["waitpoint", "signal", "source"] as const;
export type DistinctBy = (typeof DISTINCT_BY)[number];

/** So many signals, of which no two are alike in what `distinctBy` says; at all waitpoints unless some are named. */
export interface CountCondition {
	/** How many signals must come. */
	n: number;
	/** In what no two of them may be alike: the waitpoint they came to, their name, or who sent them. */
	distinctBy: DistinctBy;
	/** Only signals of this name (any). */
	match?: string;
	/** Keys of the waitpoints they must come to (all of the suspension). */
	waitpoints?: readonly string[];
}

const countShape = part({ n: number, distinctBy: text }, { match: text, waitpoints: list(text) });

const leafShape = oneOf(
	part({ signal: text }, { waitpoint: text }),
	part({ anySignal: flag }, { waitpoint: text }),
	part({ operatorOnly: flag }),
	part({ timeoutOnly: flag }),
	part({ count: countShape }),
);

/** What joins others can be told by its field alone; and how deep they lie is bounded, or reading them might not end. */
function conditionWithin(depth: number): Shape {
	if (depth === 0) return leafShape;
	const parts = list(conditionWithin(depth - 1));
	const allOf = part({ allOf: parts });
	const anyOf = part({ anyOf: parts });
	return (value) => {
		if (typeof value === "object" && value !== null) {
			if ("allOf" in value) return allOf(value);
			if ("anyOf" in value) return anyOf(value);
		}
		return leafShape(value);
	};
}

/** What counts signals, as opposed to what joins others. */
export type Leaf = Exclude<Condition, { allOf: unknown } | { anyOf: unknown }>;

export const MOST_NODES = 64;
export const DEEPEST = 4;
export const MOST_COUNTED = 1000;

/** Deeper than a caller may go: an earlier version may have let him. */
export const conditionShape: Shape = conditionWithin(4 * DEEPEST);

const childrenOf = (node: Condition): readonly Condition[] | undefined =>
	"allOf" in node ? node.allOf : "anyOf" in node ? node.anyOf : undefined;

/** The leaves of a condition, in the order in which they are written: a leaf is known by its place among them. */
export function leavesOf(node: Condition): Leaf[] {
	const children = childrenOf(node);
	return children ? children.flatMap(leavesOf) : [node as Leaf];
}

const needed = (leaf: Leaf): number =>
	"count" in leaf ? leaf.count.n : "signal" in leaf || "anySignal" in leaf ? 1 : Number.POSITIVE_INFINITY;

/** Whether a leaf that has counted so many signals waits for no more. */
export const isFull = (leaf: Leaf, counted: number): boolean => counted >= needed(leaf);

/** The leaves by which a condition holds, given what each has counted; undefined while it does not. */
export function satisfiedBy(condition: Condition, counts: readonly number[]): number[] | undefined {
	let next = 0;
	const visit = (node: Condition): number[] | undefined => {
		const children = childrenOf(node);
		if (!children) {
			const leaf = next++;
			return isFull(node as Leaf, counts[leaf] ?? 0) ? [leaf] : undefined;
		}
		// All are visited, also where the outcome is known: it is by their order that leaves are told apart.
		const held = children.map(visit);
		const holding = held.filter((leaves) => leaves !== undefined);
		const isHeld = "allOf" in node ? holding.length === held.length : holding.length > 0;
		return isHeld ? holding.flat() : undefined;
	};
	return visit(condition);
}

/** The signals by name that a waitpoint is waited at for, each once. */
export function signalNamesAt(condition: Condition, key: string, first: string | undefined): string[] {
	const names = new Set<string>();
	for (const leaf of leavesOf(condition)) {
		if ("signal" in leaf && (leaf.waitpoint ?? first) === key) names.add(leaf.signal);
		if ("count" in leaf && leaf.count.match !== undefined && isCountedAt(leaf.count, key)) names.add(leaf.count.match);
	}
	return [...names];
}

export const isCountedAt = ({ waitpoints }: CountCondition, key: string): boolean =>
	waitpoints === undefined || waitpoints.includes(key);

/** What is wrong with a condition. */
export interface ConditionFault {
	code: ErrorCode;
	/** Where, as a path into the body. */
	field: string;
	details?: Record<string, unknown>;
}

/** Undefined when there is nothing wrong with a condition over these waitpoints. */
export function conditionFault(
	condition: Condition,
	keys: readonly string[],
	hasTimeout: boolean,
): ConditionFault | undefined {
	let nodes = 0;
	const visit = (node: Condition, field: string, depth: number): ConditionFault | undefined => {
		nodes += 1;
		if (nodes > MOST_NODES) return { code: "condition_too_large", field: "condition", details: { limit: MOST_NODES } };
		const children = childrenOf(node);
		if (!children) return leafFault(node as Leaf, field, keys, hasTimeout);
		if (depth > DEEPEST) return { code: "depth_exceeded", field, details: { limit: DEEPEST } };
		const name = "allOf" in node ? "allOf" : "anyOf";
		if (children.length === 0) return { code: name === "allOf" ? "all_of_empty" : "any_of_empty", field };
		for (const [n, child] of children.entries()) {
			const fault = visit(child, `${field}.${name}[${n}]`, depth + 1);
			if (fault) return fault;
		}
		return undefined;
	};
	return visit(condition, "condition", 1);
}

function leafFault(
	leaf: Leaf,
	field: string,
	keys: readonly string[],
	hasTimeout: boolean,
): ConditionFault | undefined {
	const unknown = (at: string, waitpoint?: string): ConditionFault => ({
		code: "waitpoint_unknown",
		field: at,
		details: waitpoint === undefined ? {} : { waitpoint },
	});
	if ("timeoutOnly" in leaf) return hasTimeout ? undefined : { code: "timeout_required", field };
	if ("operatorOnly" in leaf) return undefined;
	if (!("count" in leaf)) {
		if (leaf.waitpoint !== undefined && !keys.includes(leaf.waitpoint))
			return unknown(`${field}.waitpoint`, leaf.waitpoint);
		return keys.length === 0 ? unknown("waitpoints") : undefined;
	}
	const { n, distinctBy, waitpoints } = leaf.count;
	if (n < 1) return { code: "count_n_zero", field: `${field}.count.n` };
	const stranger = waitpoints?.find((key) => !keys.includes(key));
	if (stranger !== undefined) return unknown(`${field}.count.waitpoints`, stranger);
	if (waitpoints?.length === 0) return { code: "count_waitpoints_empty", field: `${field}.count.waitpoints` };
	if (keys.length === 0) return unknown("waitpoints");
	const most = distinctBy === "waitpoint" ? new Set(waitpoints ?? keys).size : MOST_COUNTED;
	return n > most ? { code: "count_unreachable", field: `${field}.count.n`, details: { n, limit: most } } : undefined;
}
