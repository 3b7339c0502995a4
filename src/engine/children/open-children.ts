import { type OpenChildren, openNumbers } from "../../kernel/children/describing.ts";
import { type ExecutionRecord, executionKey, partsOf } from "../../kernel/records/execution.ts";
import {
	CHILDREN_PER_PAGE,
	type ChildrenPageRecord,
	childrenPageKey,
	pageOfChild,
} from "../../kernel/records/family.ts";
import { hasEnded, publicState } from "../../kernel/state.ts";
import type { Session } from "../calls/session.ts";
import { readRecords } from "../reading/records.ts";
import { readFamily } from "./families.ts";

const MOST_NAMED = 10;

/** What a parent still waits for of its children, the first of it. */
export async function openChildren(session: Session, record: ExecutionRecord): Promise<OpenChildren | undefined> {
	const family = await readFamily(session, record);
	if (!family?.wait) return undefined;
	const { generation } = partsOf(record);
	const runner = session.runnerOf(record.id);
	const numbers = openNumbers(family, family.wait, MOST_NAMED);
	const keys = numbers.map((number) => childrenPageKey(record.id, generation, pageOfChild(number)));
	const pages = await readRecords<ChildrenPageRecord>(session, runner, keys);
	const entries = numbers.flatMap((number, n) => pages[n]?.children[(number - 1) % CHILDREN_PER_PAGE] ?? []);
	const records = await readRecords<ExecutionRecord>(
		session,
		runner,
		entries.map(({ executionId }) => executionKey(executionId)),
	);
	const first = entries.flatMap(({ key }, n) => {
		const child = records[n];
		return child && !hasEnded(child) ? [{ key, publicState: publicState(child) }] : [];
	});
	return { left: family.wait.left, first };
}
