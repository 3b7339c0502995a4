import { type ExecutionRecord, type Parts, partsOf } from "../records/execution.ts";
import {
	CHILDREN_PER_PAGE,
	type ChildEntry,
	type ChildrenWait,
	childrenPageKey,
	type FamilyRecord,
	familyKey,
	pageOfChild,
} from "../records/family.ts";
import { publicState } from "../state.ts";
import type { Tx } from "../tx.ts";
import { isMarked } from "./marks.ts";

/** Whether an execution has had children since it was submitted or last replayed without them. */
export const hasFamily = ({ families = 0, generation }: Parts): boolean => families === generation + 1;

/** The children of an execution, if it has had any. */
export function familyOf(tx: Tx, record: ExecutionRecord): FamilyRecord | undefined {
	const parts = partsOf(record);
	return hasFamily(parts) ? tx.get(familyKey(record.id, parts.generation)) : undefined;
}

/** Whether a holder gave its lease back until children are done. */
export const isWaitingForChildren = (record: ExecutionRecord): boolean =>
	record.lifecyclePhase === "runnable" &&
	record.eligibilityState === "blocked_by_dependencies" &&
	record.attemptState === "attempt_interrupted";

/** Whether a wait is about a child. */
export const isAwaited = ({ among, upTo }: ChildrenWait, number: number): boolean =>
	number <= upTo && (among === "" || isMarked(among, number));

/** Whether a parent may go on. However it waits, it does when there is nothing left to wait for. */
export function isOver({ mode, left, total, succeeded }: ChildrenWait): boolean {
	if (left === 0) return true;
	return mode === "any" ? left < total : mode === "first_success" && succeeded > 0;
}

/** Keeps how a child ended where its parent finds it, before it is something else. */
export function keepEnd(tx: Tx, record: ExecutionRecord, more: Partial<ChildEntry> = {}): void {
	if (!record.child) return;
	const { parentId, number, generation = 0 } = record.child;
	const key = childrenPageKey(parentId, generation, pageOfChild(number));
	const page = tx.getReadable(key);
	const at = (number - 1) % CHILDREN_PER_PAGE;
	const entry = page?.children[at];
	if (!page || entry?.executionId !== record.id) return;
	const children = [...page.children];
	children[at] = { key: entry.key, executionId: entry.executionId, end: publicState(record), ...more };
	tx.put(key, { ...page, children });
}
