import type { Deed } from "./changing.ts";
import { cancelSome } from "./children/cancelling.ts";
import { stepsQueue, waitpointsQueue } from "./placement.ts";
import { type ExecutionRecord, executionKey, type Parts } from "./records/execution.ts";
import {
	CHILDREN_PER_PAGE,
	childNameKey,
	childrenPageKey,
	type FamilyRecord,
	familyKey,
	pageOfChild,
} from "./records/family.ts";
import { amend, type Key } from "./records/record.ts";
import { type SignalRecord, sentSignalKey, signalKey } from "./records/signal.ts";
import type { StepRecord } from "./records/step.ts";
import { chunkKey, FRAME_MODES, type StreamRecord, streamKey, summaryKey } from "./records/stream.ts";
import { suspensionKey, suspensionNameKey } from "./records/suspension.ts";
import { type WaitpointRecord, waitpointNameKey } from "./records/waitpoint.ts";
import { logOf, withLog, withoutOldest } from "./streams/keeping.ts";
import { countedValues } from "./suspension/counting.ts";
import type { Tx } from "./tx.ts";

/** What an execution has in records of its own goes with it, and begins anew with a replay. */

/**
 * Removes up to `most` parts of one kind. Parts go from the newest down and `parts` tells what is left of them, so that the
 * next step knows where to go on.
 */
type PartRemover = (tx: Tx, record: ExecutionRecord, parts: Parts, most: number, deed: Deed) => Removal;

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

/** Before suspensions, since only these tell under which values a signal was counted. */
const removeSignals: PartRemover = (tx, { id }, parts, most) => {
	const keys = newest(parts.signals, most).map((number) => signalKey(id, number));
	tx.expect(keys);
	for (const key of keys) {
		const signal = tx.getReadable(key);
		if (signal) forgetSignal(tx, id, signal);
		tx.remove(key);
	}
	const signals = parts.signals - keys.length;
	return { parts: { ...parts, signals }, count: keys.length, isDone: signals === 0 };
};

function forgetSignal(tx: Tx, executionId: string, signal: SignalRecord): void {
	const { payload, waitpointId, idempotencyKey, suspension } = signal;
	if (payload?.ref) tx.removeBlob(payload.ref);
	if (idempotencyKey !== "") removeIfThere(tx, sentSignalKey(executionId, waitpointId, idempotencyKey));
	const counting = suspension > 0 ? tx.getReadable(suspensionKey(executionId, suspension)) : undefined;
	if (!counting) return;
	for (const mark of countedValues(executionId, suspension, counting, signal)) removeIfThere(tx, mark);
}

const removeSuspensions: PartRemover = (tx, { id }, parts, most) => {
	const keys = newest(parts.suspensions, most).map((number) => suspensionKey(id, number));
	tx.expect(keys);
	for (const key of keys) {
		const suspension = tx.getReadable(key);
		if (suspension && suspension.idempotencyKey !== "")
			removeIfThere(tx, suspensionNameKey(id, suspension.generation, suspension.idempotencyKey));
		tx.remove(key);
	}
	const suspensions = parts.suspensions - keys.length;
	return { parts: { ...parts, suspensions }, count: keys.length, isDone: suspensions === 0 };
};

const removeWaitpoints: PartRemover = (tx, { id }, parts, most) => {
	if (parts.waitpoints === 0) return { parts, count: 0, isDone: true };
	const found = tx.all(waitpointsQueue(id), executionKey(id), most).slice(0, most);
	tx.expect(found.map(({ key }) => key));
	for (const { key } of found) {
		const waitpoint = tx.getReadable(key as Key<WaitpointRecord>);
		if (waitpoint) removeIfThere(tx, waitpointNameKey(id, waitpoint.generation, waitpoint.key));
		tx.remove(key);
	}
	const isDone = found.length < most;
	return { parts: isDone ? { ...parts, waitpoints: 0 } : parts, count: found.length, isDone };
};

/** Streams go from that of the last attempt down, each with its oldest chunks first. */
const removeStreams: PartRemover = (tx, { id }, parts, most) => {
	const attempt = parts.streams - 1;
	if (attempt < 0) return { parts, count: 0, isDone: true };
	const key = streamKey(id, attempt);
	const stream = tx.getReadable(key);
	const left = stream && removeOldest(tx, id, attempt, stream);
	if (left) {
		tx.put(key, left);
		return { parts, count: most, isDone: false };
	}
	// One that cannot be read may have had a summary, and goes too.
	if (!stream || stream.summary.total > 0) tx.remove(summaryKey(id, attempt));
	tx.remove(key);
	return { parts: { ...parts, streams: attempt }, count: 1, isDone: attempt === 0 };
};

/** Removes the oldest chunks of one mode; the stream without them, or undefined when there were none. */
function removeOldest(tx: Tx, id: string, attempt: number, stream: StreamRecord): StreamRecord | undefined {
	for (const mode of FRAME_MODES) {
		const { log, gone } = withoutOldest(logOf(stream, mode));
		if (!gone) continue;
		for (let n = gone.from; n <= gone.to; n++) tx.removeBlob(chunkKey(id, attempt, n, mode));
		return amend(stream, withLog(mode, log));
	}
	return undefined;
}

/** From the last generation down. Children stay, but for those that were to be cancelled: that is done first. */
const removeFamilies: PartRemover = (tx, { id }, parts, most, deed) => {
	let { families = 0 } = parts;
	if (families === 0) return { parts, count: 0, isDone: true };
	let count = 0;
	for (; families > 0 && count < most; families--) {
		const key = familyKey(id, families - 1);
		const family = tx.getReadable(key);
		if (!family) continue;
		if (family.cancelFrom > 0) {
			cancelSome(tx, id, families - 1, deed);
			return { parts: { ...parts, families }, count: most, isDone: false };
		}
		const left = removePages(tx, id, families - 1, family, most - count);
		count += family.count - left;
		if (left > 0) {
			tx.put(key, amend(family, { count: left }));
			return { parts: { ...parts, families }, count: most, isDone: false };
		}
		tx.remove(key);
	}
	return { parts: { ...parts, families }, count, isDone: families === 0 };
};

/** Removes what leads to children, the last page first, as long as there is room; how many are left. */
function removePages(tx: Tx, id: string, generation: number, family: FamilyRecord, most: number): number {
	let left = family.count;
	while (left > 0 && family.count - left < most) {
		const page = pageOfChild(left);
		const key = childrenPageKey(id, generation, page);
		for (const child of tx.getReadable(key)?.children ?? []) tx.remove(childNameKey(id, generation, child.key));
		tx.remove(key);
		left = page * CHILDREN_PER_PAGE;
	}
	return left;
}

/** The last `most` of what is numbered from 1. */
const newest = (last: number, most: number): number[] =>
	Array.from({ length: Math.min(last, most) }, (_, n) => last - n);

/** Several may lead to the same name. */
function removeIfThere(tx: Tx, key: Key<object>): void {
	if (tx.getReadable(key)) tx.remove(key);
}

/** Every kind of part, in the order they go. */
const REMOVERS: readonly PartRemover[] = [
	removeSignals,
	removeSuspensions,
	removeWaitpoints,
	removeStreams,
	removeFamilies,
	removeSteps,
];

/** Removes up to `most` parts; what is left to be removed, or null for nothing. */
export function removeParts(tx: Tx, record: ExecutionRecord, parts: Parts, most: number, deed: Deed): Parts | null {
	let left = parts;
	let room = most;
	for (const remove of REMOVERS) {
		const removal = remove(tx, record, left, room, deed);
		left = removal.parts;
		room -= removal.count;
		if (!removal.isDone || room <= 0) return left;
	}
	return null;
}

/** What a replay begins with. Parts of earlier generations stay until the execution goes, but count no more. */
export function partsAfterReplay({ parts }: ExecutionRecord, keepSteps: boolean): Parts | null {
	if (!parts || keepSteps) return parts;
	const { handed: _, handedBytes: _handed, joined: _joined, joinedBytes: _bytes, ...rest } = parts;
	const { generation, signals } = parts;
	return { ...rest, generation: generation + 1, signalsBefore: signals, steps: 0, stepBytes: 0 };
}
