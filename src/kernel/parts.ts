import { stepsQueue } from "./placement.ts";
import { type ExecutionRecord, executionKey, type Parts } from "./records/execution.ts";
import type { Key } from "./records/record.ts";
import type { StepRecord } from "./records/step.ts";
import type { Tx } from "./tx.ts";

/** What an execution has in records of its own goes with it, and begins anew with a replay. */

/**
 * Removes up to `most` parts of one kind. Parts go from the newest down and `parts` tells what is left of them, so that the
 * next step knows where to go on.
 */
type PartRemover = (tx: Tx, record: ExecutionRecord, parts: Parts, most: number) => Removal;

interface Removal {
	parts: Parts;
	count: number;
	/** Nothing of this kind is left. */
	isDone: boolean;
}

/** One generation after the other; when the first is empty there is none any more. */
const removeSteps: PartRemover = (tx, { id }, parts, most) => {
	const { generation } = parts;
	if (generation < 0) return { parts, count: 0, isDone: true };
	const found = tx.all(stepsQueue(id, generation), executionKey(id), most).slice(0, most);
	tx.expect(found.map(({ key }) => key));
	for (const { key } of found) {
		const ref = tx.getReadable(key as Key<StepRecord>)?.result?.ref;
		if (ref) tx.removeBlob(ref);
		tx.remove(key);
	}
	if (found.length === most) return { parts, count: most, isDone: false };
	return { parts: { ...parts, generation: generation - 1 }, count: found.length, isDone: generation === 0 };
};

/** Every kind of part, in the order they go. */
const REMOVERS: readonly PartRemover[] = [removeSteps];

/** Removes up to `most` parts; what is left to be removed, or null for nothing. */
export function removeParts(tx: Tx, record: ExecutionRecord, parts: Parts, most: number): Parts | null {
	let left = parts;
	let room = most;
	for (const remove of REMOVERS) {
		const removal = remove(tx, record, left, room);
		left = removal.parts;
		room -= removal.count;
		if (!removal.isDone || room === 0) return left;
	}
	return null;
}

/** What a replay begins with. Parts of earlier generations stay until the execution goes, but count no more. */
export function partsAfterReplay({ parts }: ExecutionRecord, keepSteps: boolean): Parts | null {
	if (!parts || keepSteps) return parts;
	const { generation, signals } = parts;
	return { ...parts, generation: generation + 1, signalsBefore: signals, steps: 0, stepBytes: 0 };
}
