import type { ChildView } from "../../contract/replies.ts";
import { hasFamily, isAwaited } from "../../kernel/children/families.ts";
import { type ExecutionRecord, executionKey, partsOf } from "../../kernel/records/execution.ts";
import {
	CHILDREN_PER_PAGE,
	type ChildEntry,
	type ChildrenPageRecord,
	type ChildrenWait,
	childrenPageKey,
	type FamilyRecord,
	familyKey,
} from "../../kernel/records/family.ts";
import { publicState } from "../../kernel/state.ts";
import type { Session } from "../calls/session.ts";
import { endingViews } from "../reading/ended-work.ts";
import { readRecords } from "../reading/records.ts";

/** A child as its parent has it. */
export interface KnownChild extends ChildEntry {
	number: number;
}

export async function readFamily(session: Session, record: ExecutionRecord): Promise<FamilyRecord | undefined> {
	const parts = partsOf(record);
	if (!hasFamily(parts)) return undefined;
	const key = familyKey(record.id, parts.generation);
	return (await readRecords<FamilyRecord>(session, session.runnerOf(record.id), [key]))[0];
}

/** All children of an execution, in the order they were made. */
export async function readChildren(
	session: Session,
	record: ExecutionRecord,
	{ count }: FamilyRecord,
): Promise<KnownChild[]> {
	const { generation } = partsOf(record);
	const pages = Math.ceil(count / CHILDREN_PER_PAGE);
	const keys = Array.from({ length: pages }, (_, page) => childrenPageKey(record.id, generation, page));
	const read = await readRecords<ChildrenPageRecord>(session, session.runnerOf(record.id), keys);
	return read.flatMap((page, n) =>
		(page?.children ?? []).map((entry, at) => ({ ...entry, number: n * CHILDREN_PER_PAGE + at + 1 })),
	);
}

/** The children that a parent waited for last, and what came of them. */
export async function awaitedChildren(session: Session, record: ExecutionRecord): Promise<ChildView[]> {
	const family = await readFamily(session, record);
	const wait = family?.wait;
	if (!family || !wait) return [];
	const children = (await readChildren(session, record, family)).filter(({ number }) => isAwaited(wait, number));
	const runner = session.runnerOf(record.id);
	const keys = children.map(({ executionId }) => executionKey(executionId));
	const records = await readRecords<ExecutionRecord>(session, runner, keys);
	const endings = children.map((child, n) => endingOf(child, records[n], wait));
	const views = await endingViews(session, runner, endings);
	return children.map(({ key }, n) => ({ key, ...(views[n] as (typeof views)[number]) }));
}

/** One that was replayed since the wait was over is told of as it was then. */
function endingOf(
	{ executionId, end, attempt, wait }: KnownChild,
	record: ExecutionRecord | undefined,
	last: ChildrenWait,
) {
	if (record?.removing) return { executionId, record: undefined, state: end ?? publicState(record) };
	if (!record || wait === last.number) return { executionId, record, state: end ?? ("completed" as const), attempt };
	return { executionId, record, state: publicState(record) };
}
