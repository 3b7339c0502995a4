import { change, type Deed } from "../changing.ts";
import type { EventDraft } from "../events.ts";
import type { ExecutionRecord, Member } from "../records/execution.ts";
import type { Tx } from "../tx.ts";
import { afterGroup, beforeGroup } from "./members.ts";

/** A member may run, as far as its group is concerned: `member` is as it is from now on. */
export function stopWaiting(tx: Tx, record: ExecutionRecord, member: Member, deed: Deed): ExecutionRecord {
	const changes = afterGroup(record, member, deed.now);
	changes.member = member;
	changes.blockingDetail = "";
	changes.blockedAt = 0;
	const { delayUntil } = changes;
	const event: EventDraft = delayUntil ? { type: "delayed", delayUntil } : { type: "eligible" };
	return change(tx, record, changes, deed, [event]);
}

/** A member has to wait for its group, or again for it. */
export function startWaiting(
	tx: Tx,
	record: ExecutionRecord,
	member: Member,
	deed: Deed,
	more: Partial<ExecutionRecord> = {},
): ExecutionRecord {
	const { attempt } = record;
	const changes: Partial<ExecutionRecord> = beforeGroup(attempt ? "pending_replay_attempt" : "pending_first_attempt");
	changes.member = member;
	changes.blockedAt = deed.now;
	changes.blockingDetail = "";
	changes.blockedOn = "";
	changes.turn = 0;
	Object.assign(changes, more);
	return change(tx, record, changes, deed, [{ type: "blocked", reason: "waiting_for_children" }]);
}
