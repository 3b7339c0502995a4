import { cancellation, type Deed } from "../changing.ts";
import type { EventDraft } from "../events.ts";
import { DEFAULT_GRACE_MS } from "../policy.ts";
import { amendExecution, type Cancel, type ExecutionRecord, executionKey } from "../records/execution.ts";
import { CHILDREN_PER_PAGE, childrenPageKey, familyKey, pageOfChild } from "../records/family.ts";
import { amend } from "../records/record.ts";
import { hasEnded } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

/** Cancels a page of the children that an ended parent has left, but for those that are to stay. */
export function cancelSome(tx: Tx, parentId: string, generation: number, deed: Deed): void {
	const key = familyKey(parentId, generation);
	const { cancelFrom = 0, cancelTo = 0 } = tx.get(key) ?? {};
	if (cancelFrom === 0) return;
	const page = pageOfChild(cancelFrom);
	const { children = [] } = tx.getReadable(childrenPageKey(parentId, generation, page)) ?? {};
	tx.expect(children.map(({ executionId }) => executionId));
	for (const [n, { executionId }] of children.entries()) {
		if (page * CHILDREN_PER_PAGE + n + 1 > cancelTo) break;
		const child = tx.getReadable(executionKey(executionId));
		if (child && !hasEnded(child) && !child.child?.isLeft) cancelChild(tx, child, deed);
	}
	const next = (page + 1) * CHILDREN_PER_PAGE + 1;
	const family = tx.get(key);
	const left = next <= cancelTo ? { cancelFrom: next } : { cancelFrom: 0, cancelTo: 0 };
	if (family) tx.put(key, amend(family, left));
}

/** Whoever runs it is asked to stop; all else ends at once. */
function cancelChild(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const reason = "its parent has ended";
	const asked: Cancel = { source: "flow", requestedAt: deed.now, reason };
	if (!record.lease) {
		const known = record.cancel ? record : amendExecution(record, { cancel: asked });
		const { changes, event } = cancellation(known, "cancel", deed);
		transition(tx, record, changes, deed, event);
		return;
	}
	if (record.cancel) return;
	const deadlineAt = deed.now + DEFAULT_GRACE_MS;
	const event: EventDraft = { type: "cancel_requested", source: asked.source, reason, deadlineAt };
	transition(tx, record, { cancel: { ...asked, deadlineAt } }, deed, event);
}
