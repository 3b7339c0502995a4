import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { amendExecution, type BudgetBreach, type ExecutionRecord, executionKey } from "../records/execution.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";

export interface RenewCommand extends Target {
	op: "renew";
	fence?: Fence;
	/** A new ttl from here on; the lease's own when left out. */
	leaseMs?: number;
}

export type RenewOutcome = Outcome<{
	expiresAt: number;
	/** Whose lease it is. */
	holder: { namespace: string; instanceId: string };
	cancelRequested?: true;
	reason?: string;
	budgetBreach?: BudgetBreach;
}>;

/** No transition and so no event: a lease counts its renewals and tells the number when it ends. */
export function renew(tx: Tx, command: RenewCommand, now: number): RenewOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "renew");
	if (answer) return withBreach(answer, record) as RenewOutcome;
	const { lease, cancel } = record;
	if (!lease) return refuse("stale_lease", { executionId: record.id });
	const ttlMs = command.leaseMs ?? lease.ttlMs;
	const expiresAt = now + ttlMs;
	tx.put(
		executionKey(record.id),
		amendExecution(record, { lease: { ...lease, ttlMs, expiresAt, renewals: (lease.renewals ?? 0) + 1 } }),
	);
	const holder = { namespace: record.namespace, instanceId: lease.instanceId };
	const breached = lease.breach ? { budgetBreach: lease.breach } : undefined;
	if (!cancel) return { ok: true, expiresAt, holder, ...breached };
	return {
		ok: true,
		expiresAt,
		holder,
		...breached,
		cancelRequested: true,
		...(cancel.reason ? { reason: cancel.reason } : undefined),
	};
}

/** Whoever lost a lease to a budget is told which. */
function withBreach(answer: Outcome, { lastLease }: ExecutionRecord): Outcome {
	if (answer.ok || answer.code !== "lease_revoked" || !lastLease?.breach) return answer;
	return refuse(answer.code, { ...answer.details, budgetBreach: lastLease.breach });
}
