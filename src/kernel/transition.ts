import { change, type Deed } from "./changing.ts";
import { followParent } from "./children/following.ts";
import type { EventDraft } from "./events.ts";
import { followFlow } from "./flows/following.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import type { Tx } from "./tx.ts";

/** The one way an execution changes, with all that follows from it for others, in one step. `changes` is used up. */
export function transition(
	tx: Tx,
	record: ExecutionRecord,
	changes: Partial<ExecutionRecord>,
	deed: Deed,
	...events: EventDraft[]
): ExecutionRecord {
	const next = change(tx, record, changes, deed, events);
	if (next.child !== null) followParent(tx, record, next, deed);
	return next.member === null ? next : followFlow(tx, record, next, deed);
}
