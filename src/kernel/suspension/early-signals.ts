import { bufferedQueue, countedQueue } from "../placement.ts";
import { type ExecutionRecord, executionKey, partsOf } from "../records/execution.ts";
import { amend, type Key } from "../records/record.ts";
import { type SignalRecord, signalSubject } from "../records/signal.ts";
import { type SuspensionRecord, suspensionKey } from "../records/suspension.ts";
import type { Tx } from "../tx.ts";
import { satisfiedBy } from "./condition.ts";
import { count, countedValues } from "./counting.ts";
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

/**
 * Counts signals that were kept for the waitpoints of a suspension, in the order in which they came. Among them are those
 * that the suspension before had counted when its execution ended: in a replay that keeps waitpoints they count again.
 */
export function replayEarly(
	tx: Tx,
	execution: ExecutionRecord,
	number: number,
	suspension: SuspensionRecord,
	waitpointIds: readonly string[],
): Replayed {
	const { id } = execution;
	const cutShort = suspensionCutShort(tx, execution, number);
	const queues = waitpointIds.map(bufferedQueue);
	if (cutShort) queues.push(countedQueue(id, number - 1));
	const keys = queues.flatMap((queue) => tx.all(queue, executionKey(id), PER_STEP + 1).map(({ key }) => key));
	keys.sort((a, b) => signalSubject(a).number - signalSubject(b).number);
	tx.expect(keys.slice(0, PER_STEP));
	let current = suspension;
	let leaves: number[] | undefined;
	for (const key of keys.slice(0, PER_STEP) as Key<SignalRecord>[]) {
		let signal = tx.get(key);
		if (signal && cutShort && signal.suspension === number - 1) signal = takenBack(tx, id, key, signal, cutShort);
		if (!signal || signal.suspension > 0 || leaves || !waitpointIds.includes(signal.waitpointId)) continue;
		const counting = count(tx, id, number, current, signal);
		tx.put(key, amend(signal, { suspension: number, leaves: counting.leaves }));
		if (counting.leaves.length === 0) continue;
		current = withCounted(current, signalSubject(key).number, signal, counting);
		leaves = satisfiedBy(current.condition, current.counts);
	}
	if (leaves) return { suspension: current, leaves, isUnfinished: false };
	return { suspension: current, isUnfinished: keys.length > PER_STEP };
}

/** The suspension before, if it was neither satisfied nor resumed but ended with its execution. */
function suspensionCutShort(tx: Tx, execution: ExecutionRecord, number: number): SuspensionRecord | undefined {
	if (execution.replays === 0 || number === 1) return undefined;
	const before = tx.get(suspensionKey(execution.id, number - 1));
	const isOfNow = before?.generation === partsOf(execution).generation;
	return before?.endedBy === "execution_ended" && isOfNow ? before : undefined;
}

/** A signal as it was before it was counted: kept for whatever waits at its waitpoint. */
function takenBack(
	tx: Tx,
	executionId: string,
	key: Key<SignalRecord>,
	signal: SignalRecord,
	suspension: SuspensionRecord,
): SignalRecord {
	for (const mark of countedValues(executionId, signal.suspension, suspension, signal))
		if (tx.get(mark)) tx.remove(mark);
	const kept = amend(signal, { suspension: 0, leaves: [] });
	tx.put(key, kept);
	return kept;
}
