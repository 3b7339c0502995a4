import type { SuspensionRecord } from "../records/suspension.ts";
import { type Condition, type CountCondition, isFull, type Leaf } from "./condition.ts";

/** What a suspension still waits for, in words: what has come is left out, where the rest is needed too. */
export function describeCondition({ condition, counts, waitpoints }: SuspensionRecord): string {
	const first = waitpoints[0]?.key ?? "";
	let next = 0;
	const visit = (node: Condition): { text: string; isHeld: boolean } => {
		if ("allOf" in node) {
			const parts = node.allOf.map(visit);
			const open = parts.filter(({ isHeld }) => !isHeld);
			return { text: joined(open, "all of"), isHeld: open.length === 0 };
		}
		if ("anyOf" in node) {
			const parts = node.anyOf.map(visit);
			return { text: joined(parts, "one of"), isHeld: parts.some(({ isHeld }) => isHeld) };
		}
		const counted = counts[next++] ?? 0;
		return { text: describeLeaf(node, counted, first), isHeld: isFull(node, counted) };
	};
	return visit(condition).text;
}

const joined = (parts: readonly { text: string }[], words: string): string =>
	parts.length === 1 ? (parts[0]?.text ?? "") : `${words} (${parts.map(({ text }) => text).join("; ")})`;

function describeLeaf(leaf: Leaf, counted: number, first: string): string {
	if ("signal" in leaf) return `signal ${leaf.signal} at ${leaf.waitpoint ?? first}`;
	if ("anySignal" in leaf) return `any signal at ${leaf.waitpoint ?? first}`;
	if ("operatorOnly" in leaf) return "an operator to resume it";
	if ("timeoutOnly" in leaf) return "its timeout";
	return describeCount(leaf.count, counted);
}

const DISTINCT = {
	waitpoint: "from different waitpoints",
	signal: "of different names",
	source: "from different sources",
};

function describeCount({ n, distinctBy, match, waitpoints }: CountCondition, counted: number): string {
	const what = match === undefined ? "signals" : `signals ${match}`;
	const where = waitpoints === undefined ? "" : ` at ${waitpoints.join(", ")}`;
	return `${n} ${what} ${DISTINCT[distinctBy]}${where}, of which ${counted} came`;
}
