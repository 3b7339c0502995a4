import type { ExecutionRecord } from "../records/execution.ts";
import { type FamilyRecord, familyKey } from "../records/family.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { familyOf } from "./families.ts";

/** A parent has ended: it waits no more, and what it leaves behind is to be cancelled, a page at a time. */
export function leaveChildren(tx: Tx, record: ExecutionRecord): void {
	const family = familyOf(tx, record);
	if (!family) return;
	const changes: Partial<FamilyRecord> = {};
	if (family.wait?.isOpen) changes.wait = null;
	if (family.ended < family.count) {
		changes.cancelFrom = 1;
		changes.cancelTo = family.count;
	}
	tx.put(familyKey(record.id, record.parts?.generation ?? 0), amend(family, changes));
}
