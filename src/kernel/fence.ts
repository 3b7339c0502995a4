import { type Outcome, type Refusal, refuse } from "./outcome.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { publicState } from "./state.ts";

/** What a worker shows with every write: which lease it believes to hold. */
export interface Fence {
	leaseId: string;
	epoch: number;
}

/**
 * Undefined when the fence is that of the live lease, else the answer. A lease is live until the tick that ends it has
 * been committed: no clock is asked here.
 */
export function fenceAnswer(record: ExecutionRecord, fence: Fence | undefined, op: string): Outcome | undefined {
	if (!fence) return refuse("fence_required", { executionId: record.id });
	const { lease, lastLease } = record;
	if (lease && lease.id === fence.leaseId && lease.epoch === fence.epoch) return undefined;
	if (!lastLease || lastLease.id !== fence.leaseId || lastLease.epoch !== fence.epoch) {
		return refuse("stale_lease", { executionId: record.id, epoch: record.epoch });
	}
	if (lastLease.by === "expired") return refuse("lease_expired", { executionId: record.id, epoch: lastLease.epoch });
	if (lastLease.by === "revoked") return refuse("lease_revoked", { executionId: record.id, epoch: lastLease.epoch });
	if (lastLease.by === op) return { ok: true, ...lastLease.outcome };
	return notActive(record);
}

/** What the call that ended the last lease is answered, now and whenever it comes again. */
export const firstAnswer = <T extends object>({ lastLease }: ExecutionRecord): Outcome<T> =>
	({ ok: true, ...lastLease?.outcome }) as Outcome<T>;

export function notActive(record: ExecutionRecord): Refusal {
	return refuse("execution_not_active", {
		executionId: record.id,
		publicState: publicState(record),
		outcome: record.terminalOutcome,
		epoch: record.epoch,
		...(record.attempt ? { attempt: record.attempt.index } : undefined),
	});
}
