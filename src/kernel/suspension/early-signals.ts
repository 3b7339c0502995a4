import { bufferedQueue, countedQueue } from "../placement.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { amend, type Key } from "../records/record.ts";
import { type SignalRecord, signalSubject } from "../records/signal.ts";
import type { SuspensionRecord } from "../records/suspension.ts";
import { waitpointKey } from "../records/waitpoint.ts";
import type { Tx } from "../tx.ts";
import { satisfiedBy } from "./condition.ts";
import { count, forgetCounted } from "./counting.ts";
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
 * Counts signals that were kept for the waitpoints of a suspension, in the order in which they came. What an earlier
 * suspension had counted that ended with its execution is counted anew; what came to waitpoints that this one does not name
 * waits there from now on.
 */
export function replayEarly(
	tx: Tx,
	{ id }: ExecutionRecord,
	number: number,
	suspension: SuspensionRecord,
	waitpointIds: readonly string[],
): Replayed {
	const cutOff = new Set(waitpointIds.map((waitpointId) => tx.get(waitpointKey(waitpointId))?.cutOff ?? 0));
	cutOff.delete(0);
	const queues = [...waitpointIds.map(bufferedQueue), ...[...cutOff].map((earlier) => countedQueue(id, earlier))];
	const keys = queues.flatMap((queue) => tx.all(queue, executionKey(id), PER_STEP + 1).map(({ key }) => key));
	keys.sort((a, b) => signalSubject(a).number - signalSubject(b).number);
	tx.expect(keys.slice(0, PER_STEP));
	let current = suspension;
	for (const key of keys.slice(0, PER_STEP) as Key<SignalRecord>[]) {
		const signal = tx.get(key);
		if (!signal || signal.suspension === number) continue;
		if (signal.suspension > 0) forgetCounted(tx, id, signal);
		if (!waitpointIds.includes(signal.waitpointId)) {
			tx.put(key, amend(signal, { suspension: 0, leaves: [] }));
			continue;
		}
		const counting = count(tx, id, number, current, signal);
		tx.put(key, amend(signal, { suspension: number, leaves: counting.leaves }));
		if (counting.leaves.length === 0) continue;
		current = withCounted(current, signalSubject(key).number, counting);
		const holding = satisfiedBy(current.condition, current.counts);
		if (holding) return { suspension: current, leaves: holding, isUnfinished: false };
	}
	return { suspension: current, isUnfinished: keys.length > PER_STEP };
}
