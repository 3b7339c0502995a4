import type { AttemptView, ClaimedExecution, Execution, ExecutionFields } from "../../contract/replies.ts";
import { JSON_CONTENT } from "../../kernel/payload.ts";
import { blockedSince, describeBlocking, stateAt } from "../../kernel/reading.ts";
import { type Attempt, type ExecutionRecord, type Failure, partsOf } from "../../kernel/records/execution.ts";
import type { LaneRecord } from "../../kernel/records/lane.ts";
import type { WorkersFor } from "../../kernel/serving.ts";
import { publicState } from "../../kernel/state.ts";

/** Records as callers see them. */

export function executionView(
	record: ExecutionRecord,
	laneCopy: LaneRecord,
	now: number,
	workers: WorkersFor | undefined,
): Execution {
	const { attempt, lease } = record;
	const blockedAt = blockedSince(record, laneCopy);
	const view: ExecutionFields = {
		id: record.id,
		kind: record.kind,
		namespace: record.namespace,
		lane: record.lane,
		priority: record.priority,
		publicState: publicState(record),
		state: stateAt(record, laneCopy, now),
		blockingDetail: describeBlocking(record, laneCopy, workers),
		...(blockedAt ? { blockedAt } : undefined),
		...(record.delayUntil ? { delayUntil: record.delayUntil } : undefined),
		...(attempt ? { attempt: { index: attempt.index, type: attempt.type, state: attempt.state } } : undefined),
		...(lease
			? {
					lease: {
						id: lease.id,
						epoch: lease.epoch,
						expiresAt: lease.expiresAt,
						workerId: lease.workerId,
						instanceId: lease.instanceId,
					},
				}
			: undefined),
		retries: record.retries,
		reclaims: record.reclaims,
		replays: record.replays,
		...(record.flowId ? { flowId: record.flowId } : undefined),
		...(record.child ? { parentId: record.child.parentId } : undefined),
		tags: { ...record.tags },
		policy: record.policy,
		...(record.idempotencyKey ? { idempotencyKey: record.idempotencyKey } : undefined),
		budgets: [...record.budgets],
		quotas: [...record.quotas],
		requiredCapabilities: [...record.requiredCapabilities],
		...(record.progress ? { progress: record.progress } : undefined),
		...(record.failure ? { failure: failureView(record.failure) } : undefined),
		...(record.cancel ? { cancel: record.cancel } : undefined),
		createdBy: record.createdBy,
		createdAt: record.createdAt,
		...(record.startedAt ? { startedAt: record.startedAt } : undefined),
		...(record.completedAt ? { completedAt: record.completedAt } : undefined),
	};
	// The rules see to it that an execution has what belongs to its state.
	return view as Execution;
}

/** Its detail is read apart, where it is shown; see `details.ts`. */
export const failureView = ({ reason, category }: Failure): { reason: string; category: string } => ({
	reason,
	category,
});

export function attemptView(attempt: Attempt): AttemptView {
	const { endedAt, failure, result } = attempt;
	return {
		index: attempt.index,
		type: attempt.type,
		state: attempt.state,
		workerId: attempt.workerId,
		instanceId: attempt.instanceId,
		startedAt: attempt.startedAt,
		...(endedAt !== undefined ? { endedAt } : undefined),
		...(failure ? { failure: failureView(failure) } : undefined),
		...(result ? { result: { contentType: result.contentType ?? JSON_CONTENT, size: result.size } } : undefined),
	};
}

/** What a worker is given with its lease; `input` is the payload as a value or as base64, if there is one. */
export function claimedView(
	record: ExecutionRecord,
	input: { value: unknown } | { base64: string } | undefined,
): ClaimedExecution {
	const { attempt, lease } = record;
	if (!attempt || !lease) throw new TypeError(`${record.id} was claimed without a lease`);
	// Assigned rather than spread: there is one per lifecycle, and a spread that adds nothing costs as much as the rest.
	const view: ClaimedExecution = {
		id: record.id,
		kind: record.kind,
		namespace: record.namespace,
		lane: record.lane,
		contentType: record.input?.contentType ?? JSON_CONTENT,
		attempt: { index: attempt.index, type: attempt.type },
		lease: { id: lease.id, epoch: lease.epoch, expiresAt: lease.expiresAt },
		stepCount: partsOf(record).steps,
		signals: [],
		tags: { ...record.tags },
	};
	if (input && "base64" in input) view.inputBase64 = input.base64;
	else if (input) view.input = input.value;
	if (record.policy.timeouts) view.timeouts = record.policy.timeouts;
	if (record.flowId) view.flowId = record.flowId;
	if (record.traceparent) view.traceparent = record.traceparent;
	return view;
}
