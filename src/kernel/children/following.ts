import { endBytes, joinedBytes, MOST_PASSED_FAILURES } from "../carried.ts";
import { change, type Deed } from "../changing.ts";
import { followFlow } from "../flows/following.ts";
import { MOST_PASSED_BYTES } from "../payload.ts";
import { type ExecutionRecord, executionKey, partsOf } from "../records/execution.ts";
import { type ChildrenWait, type FamilyRecord, familyKey } from "../records/family.ts";
import { amend } from "../records/record.ts";
import { eligible, hasEnded } from "../state.ts";
import type { Tx } from "../tx.ts";
import { isAwaited, isOver, isWaitingForChildren, keepEnd } from "./families.ts";
import { marked, unmarked } from "./marks.ts";

/** What follows for its parent from a change of a child, in the same step: from its end, or from its running again. */
export function followParent(tx: Tx, before: ExecutionRecord, next: ExecutionRecord, deed: Deed): void {
	if (!next.child || hasEnded(before) === hasEnded(next)) return;
	const { parentId, generation = 0 } = next.child;
	const key = familyKey(parentId, generation);
	const family = tx.get(key);
	if (!family) return;
	if (!hasEnded(next)) return reopened(tx, key, family, before);
	const after = ended(family, next);
	const wait = after.wait?.isOpen ? after.wait : undefined;
	const goesOn = wait !== undefined && isOver(wait) && goOn(tx, parentId, after, wait, deed);
	tx.put(key, goesOn ? amend(after, { wait: closed(wait) }) : after);
}

/** A wait as it is remembered. */
export const closed = ({ isOpen: _, ...wait }: ChildrenWait): ChildrenWait => wait;

function ended(family: FamilyRecord, record: ExecutionRecord): FamilyRecord {
	const { child, terminalOutcome } = record;
	const { number = 0 } = child ?? {};
	const { wait } = family;
	const isGood = terminalOutcome === "success";
	return amend(family, {
		ended: family.ended + 1,
		endedMarks: marked(family.endedMarks, number),
		succeededMarks: isGood ? marked(family.succeededMarks, number) : family.succeededMarks,
		endBytes: family.endBytes + endBytes(record),
		wait: wait?.isOpen && isAwaited(wait, number) ? counting(wait, -1, isGood ? 1 : 0) : wait,
	});
}

/** It is awaited again; but a wait that is over with its end stays so, and is told of that end. */
function reopened(tx: Tx, key: string, family: FamilyRecord, before: ExecutionRecord): void {
	const { number = 0 } = before.child ?? {};
	const { wait } = family;
	const isOpen = wait?.isOpen === true;
	const isGood = before.terminalOutcome === "success";
	if (wait && !isOpen && isAwaited(wait, number)) {
		const { attempt } = before;
		keepEnd(tx, before, { wait: wait.number, ...(attempt ? { attempt: attempt.index } : undefined) });
	}
	tx.put(
		key,
		amend(family, {
			ended: family.ended - 1,
			endedMarks: unmarked(family.endedMarks, number),
			succeededMarks: isGood ? unmarked(family.succeededMarks, number) : family.succeededMarks,
			endBytes: Math.max(0, family.endBytes - endBytes(before)),
			wait: wait && isOpen && isAwaited(wait, number) ? counting(wait, 1, isGood ? -1 : 0) : wait,
		}),
	);
}

const counting = (wait: ChildrenWait, left: number, succeeded: number): ChildrenWait => ({
	...wait,
	left: wait.left + left,
	succeeded: wait.succeeded + succeeded,
});

/** The same attempt goes on with the next claim. Whether it does: something else may keep the parent by now. */
function goOn(tx: Tx, parentId: string, family: FamilyRecord, wait: ChildrenWait, deed: Deed): boolean {
	const parent = tx.get(executionKey(parentId));
	if (!parent || !isWaitingForChildren(parent)) return false;
	const next = change(tx, parent, goingOn(parent, family, wait, deed.now), deed, [{ type: "eligible" }]);
	if (next.member !== null) followFlow(tx, parent, next, deed);
	return true;
}

/** What a parent is that has what it waited for. */
export function goingOn(
	parent: ExecutionRecord,
	family: FamilyRecord,
	wait: ChildrenWait,
	now: number,
): Partial<ExecutionRecord> {
	const changes: Partial<ExecutionRecord> = eligible("attempt_interrupted");
	const bytes = joinedBytes(wait.total, family.endBytes, MOST_PASSED_BYTES + MOST_PASSED_FAILURES);
	changes.parts = { ...partsOf(parent), joined: true, joinedBytes: bytes };
	changes.eligibleAt = now;
	changes.blockingDetail = "";
	changes.blockedAt = 0;
	return changes;
}
