import { bufferedQueue } from "../placement.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { amend, type Key } from "../records/record.ts";
import { type SignalRecord, signalSubject } from "../records/signal.ts";
import type { SuspensionRecord } from "../records/suspension.ts";
import type { Tx } from "../tx.ts";
import { satisfiedBy } from "./condition.ts";
import { count } from "./counting.ts";
import { withCounted } from "./handing-over.ts";

/** Early signals gone through in one step, so that no unit grows with what has come. */
const PER_STEP = 100;

/** What signals that came before a suspension make of its condition. */
export interface Replayed {
	suspension: SuspensionRecord;
	/** The leaves by which it holds. */
	leaves?: number[];
	/** There are more to be gone through. */
	isUnfinished: boolean;
}

/** Counts signals that were kept for the waitpoints of a suspension, in the order in which they came. */
export function replayEarly(
	tx: Tx,
	{ id }: ExecutionRecord,
	number: number,
	suspension: SuspensionRecord,
	waitpointIds: readonly string[],
): Replayed {
	const keys = waitpointIds.flatMap((waitpointId) =>
		tx.all(bufferedQueue(waitpointId), executionKey(id), PER_STEP + 1).map(({ key }) => key),
	);
	keys.sort((a, b) => signalSubject(a).number - signalSubject(b).number);
	tx.expect(keys.slice(0, PER_STEP));
	let current = suspension;
	for (const key of keys.slice(0, PER_STEP) as Key<SignalRecord>[]) {
		const signal = tx.get(key);
		if (!signal || signal.suspension > 0) continue;
		const counting = count(tx, id, number, current, signal);
		tx.put(key, amend(signal, { suspension: number, leaves: counting.leaves }));
		if (counting.leaves.length === 0) continue;
		current = withCounted(current, signalSubject(key).number, counting);
		const holding = satisfiedBy(current.condition, current.counts);
		if (holding) return { suspension: current, leaves: holding, isUnfinished: false };
	}
	return { suspension: current, isUnfinished: keys.length > PER_STEP };
}
