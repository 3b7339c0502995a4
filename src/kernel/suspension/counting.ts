import type { Key } from "../records/record.ts";
import { type CountedValueRecord, countedValueKey, type SignalRecord } from "../records/signal.ts";
import type { SuspensionRecord } from "../records/suspension.ts";
import type { Tx } from "../tx.ts";
import { type CountCondition, isCountedAt, isFull, type Leaf, leavesOf } from "./condition.ts";

/** What a condition makes of a signal. */
export interface Counting {
	counts: readonly number[];
	/** The leaves that counted it. */
	leaves: number[];
	/** Some leaf would have counted it, had it not counted one like it. */
	isAlike: boolean;
}

/** Shows a signal to every leaf. Each counts for itself, and one that is full counts no more. */
export function count(
	tx: Tx,
	executionId: string,
	number: number,
	{ condition, counts, waitpoints }: SuspensionRecord,
	signal: SignalRecord,
): Counting {
	const first = waitpoints[0]?.key;
	const next = [...counts];
	const leaves: number[] = [];
	let isAlike = false;
	for (const [n, leaf] of leavesOf(condition).entries()) {
		const counted = next[n] ?? 0;
		if (!isMeant(leaf, signal, first) || isFull(leaf, counted)) continue;
		if ("count" in leaf) {
			const mark = countedValueKey(executionId, number, n, distinctValue(leaf.count, signal));
			// Mostly there is none: whoever counts at the same moment makes the commit fail.
			if (tx.getFresh(mark)) {
				isAlike = true;
				continue;
			}
			tx.put(mark, { number: counted + 1 });
		}
		next[n] = counted + 1;
		leaves.push(n);
	}
	return { counts: next, leaves, isAlike };
}

function isMeant(leaf: Leaf, { name, waitpoint }: SignalRecord, first: string | undefined): boolean {
	if ("signal" in leaf) return leaf.signal === name && (leaf.waitpoint ?? first) === waitpoint;
	if ("anySignal" in leaf) return (leaf.waitpoint ?? first) === waitpoint;
	if (!("count" in leaf)) return false;
	const { match } = leaf.count;
	return (match === undefined || match === name) && isCountedAt(leaf.count, waitpoint);
}

/** Where it is marked that leaves of a suspension counted a signal. */
export function countedValues(
	executionId: string,
	number: number,
	{ condition }: SuspensionRecord,
	signal: SignalRecord,
): Key<CountedValueRecord>[] {
	const leaves = leavesOf(condition);
	return signal.leaves.flatMap((n) => {
		const leaf = leaves[n];
		return leaf && "count" in leaf ? [countedValueKey(executionId, number, n, distinctValue(leaf.count, signal))] : [];
	});
}

/** What no two signals that count may have in common. Those that name no source have one in common. */
function distinctValue({ distinctBy }: CountCondition, { name, waitpoint, source }: SignalRecord): string {
	if (distinctBy === "waitpoint") return waitpoint;
	if (distinctBy === "signal") return name;
	return source ? JSON.stringify([source.type, source.identity]) : "";
}
