import { blockFor } from "../admission/admitting.ts";
import { BLOCKING_CAUSES, type BlockingCause, blockingCauseOf, pausingBudget } from "../blocking.ts";
import { Candidates } from "../candidates.ts";
import type { Outcome } from "../outcome.ts";
import { executionPlacement } from "../placement.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { eligible } from "../state.ts";
import { currentSuspension } from "../suspension/ending.ts";
import { resume } from "../suspension/resuming.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

/**
 * Work that something keeps from running is moved aside by its cause, and back when the cause is gone. The cause lives in
 * another partition as a rule, so whoever sends these has looked there; both only move work between two queues, and may
 * be repeated.
 */

/** How many are moved in one step, so that no unit grows with what waits. */
export const MOVED_PER_STEP = 100;

export interface BlockCommand {
	op: "block";
	cause: BlockingCause;
	/** An eligible queue. */
	queue: string;
	/** Why, for a person. */
	detail: string;
	actor: string;
}

export type MoveOutcome = Outcome<{ moved: number }>;

export function block(tx: Tx, { cause, queue, detail, actor }: BlockCommand, now: number): MoveOutcome {
	const candidates = new Candidates(tx, [queue], MOVED_PER_STEP, now);
	let moved = 0;
	while (moved < MOVED_PER_STEP) {
		const record = candidates.next();
		if (!record) break;
		blockFor(tx, record, cause, {}, { detail }, { now, actor });
		candidates.setAside();
		moved += 1;
	}
	return { ok: true, moved };
}

export interface UnblockCommand {
	op: "unblock";
	cause: BlockingCause;
	/** A queue of blocked work. */
	queue: string;
	/** Of what waits in it, this; the first that do when left out. What waits for something else by now stays. */
	keys?: readonly string[];
	actor: string;
}

/** Only what that cause still keeps: whatever was blocked by another meanwhile stays. */
export function unblock(tx: Tx, { cause, queue, actor, ...command }: UnblockCommand, now: number): MoveOutcome {
	const keys = command.keys ?? tx.first(queue, MOVED_PER_STEP).map(({ key }) => key);
	tx.expect(keys);
	let moved = 0;
	for (const key of keys) {
		const record = tx.getReadable(executionKey(key));
		if (!record || !standsIn(record, queue)) continue;
		const suspension = pausingBudget(record) === undefined ? undefined : currentSuspension(tx, record);
		if (suspension) {
			resume(tx, record, suspension, { by: "admitted" }, { now, actor });
			moved += 1;
			continue;
		}
		if (blockingCauseOf(record) !== cause) continue;
		const changes: Partial<ExecutionRecord> = eligible(record.attemptState);
		changes.blockingDetail = "";
		changes.blockedAt = 0;
		const { blockingReason: reason } = BLOCKING_CAUSES[cause];
		transition(tx, record, changes, { now, actor }, { type: "unblocked", reason });
		moved += 1;
	}
	return { ok: true, moved };
}

const standsIn = (record: ExecutionRecord, queue: string): boolean =>
	executionPlacement(record).some((place) => place.queue === queue);
