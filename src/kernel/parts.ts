import type { Payload } from "./payload.ts";
import { stepsQueue } from "./placement.ts";
import { type ExecutionRecord, executionKey, type Parts } from "./records/execution.ts";
import type { Key } from "./records/record.ts";
import type { StepRecord } from "./records/step.ts";
import type { Tx } from "./tx.ts";

/** What an execution has in records of its own goes with it, and begins anew with a replay. */

/**
 * One kind of part: the queue in which all parts of a generation stand, and what each of them keeps apart. A part that
 * belongs to no generation stands in the same queue for all of them. Whoever adds to the queue writes the execution too.
 */
interface PartKind<R extends object> {
	queue(executionId: string, generation: number): string;
	payloadOf?(part: R): Payload | null;
}

const kind = <R extends object>(part: PartKind<R>): PartKind<object> => part as unknown as PartKind<object>;

const PART_KINDS: readonly PartKind<object>[] = [
	kind<StepRecord>({ queue: stepsQueue, payloadOf: ({ result }) => result }),
];

/**
 * Removes up to `most` parts of the latest generation there is, and tells what is left to be removed: null for nothing.
 * Generations go from the newest down, so what is left always says where to go on.
 */
export function removeParts(tx: Tx, { id }: ExecutionRecord, parts: Parts, most: number): Parts | null {
	let room = most;
	for (const { queue, payloadOf } of PART_KINDS) {
		const found = tx.all(queue(id, parts.generation), executionKey(id), most).slice(0, room);
		tx.expect(found.map(({ key }) => key));
		for (const { key } of found) {
			const part = payloadOf && tx.getReadable(key as Key<object>);
			const ref = part && payloadOf?.(part)?.ref;
			if (ref) tx.removeBlob(ref);
			tx.remove(key);
		}
		room -= found.length;
		if (room === 0) return parts;
	}
	return parts.generation > 0 ? { ...parts, generation: parts.generation - 1 } : null;
}

/** What a replay begins with. Parts of earlier generations stay until the execution goes, but count no more. */
export function partsAfterReplay({ parts }: ExecutionRecord, keepSteps: boolean): Parts | null {
	if (!parts || keepSteps) return parts;
	const { generation, signals } = parts;
	return { ...parts, generation: generation + 1, signalsBefore: signals, steps: 0, stepBytes: 0 };
}
