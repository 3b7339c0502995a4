import { cancelSome } from "../children/cancelling.ts";
import { type FamilyRecord, familySubject } from "../records/family.ts";
import type { Key } from "../records/record.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/** What is left to be cancelled of the children of a parent that has ended. */
export function tickFamily(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const family = tx.get(key as Key<FamilyRecord>);
	if (!family || family.cancelFrom === 0) return { ok: true };
	const { parentId, generation } = familySubject(key);
	cancelSome(tx, parentId, generation, { now, actor: "child_cancel" });
	return { ok: true, duty: "child_cancel" };
}
