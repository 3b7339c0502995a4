import { executionKey } from "../records/execution.ts";
import {
	flowKey,
	flowMembersKey,
	flowNodeKey,
	flowProgressKey,
	MEMBERS_PER_PAGE,
	pageOfMember,
} from "../records/flow.ts";
import { idempotencyKeyKey } from "../records/idempotency-key.ts";
import { beginRemoval } from "../removing.ts";
import type { FlowStep } from "./flow-step.ts";

/** Removes a flow whole, the last page of members first; each member removes itself from then on. Its record goes last. */
export function removeFlow(step: FlowStep): void {
	const { tx, flow, deed } = step;
	if (!flow.removing) hide(step);
	if (flow.nodes > 0) {
		const page = pageOfMember(flow.nodes);
		const key = flowMembersKey(flow.id, page);
		const { members = [] } = tx.getReadable(key) ?? {};
		tx.expect(members.flatMap(({ key: node, executionId }) => [executionId, flowNodeKey(flow.id, node)]));
		for (const { key: node, executionId } of members) {
			const record = tx.getReadable(executionKey(executionId));
			if (record && !record.removing) beginRemoval(tx, record, deed);
			if (tx.getReadable(flowNodeKey(flow.id, node))) tx.remove(flowNodeKey(flow.id, node));
		}
		tx.remove(key);
		step.amend({ nodes: page * MEMBERS_PER_PAGE });
	}
	if (step.flow.nodes > 0) return step.write();
	tx.remove(flowProgressKey(flow.id));
	tx.remove(flowKey(flow.id));
}

function hide(step: FlowStep): void {
	const { tx, flow } = step;
	step.amend({ removing: true });
	if (flow.idempotencyKey) {
		const key = idempotencyKeyKey(flow.namespace, flow.idempotencyKey);
		// The key may by now belong to a later one.
		if (tx.get(key)?.executionId === flow.id) tx.remove(key);
	}
	// Nobody has heard of what was given up before it was whole.
	if (flow.buildUntil > 0) return;
	tx.forget(flow);
	step.tell({ type: "deleted" });
}
