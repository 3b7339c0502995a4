import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { amendExecution, executionKey } from "../records/execution.ts";
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
}>;

/** No transition and so no event: a lease counts its renewals and tells the number when it ends. */
export function renew(tx: Tx, command: RenewCommand, now: number): RenewOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "renew");
	if (answer) return answer as RenewOutcome;
	const { lease, cancel } = record;
	if (!lease) return refuse("stale_lease", { executionId: record.id });
	const ttlMs = command.leaseMs ?? lease.ttlMs;
	const expiresAt = now + ttlMs;
	tx.put(
		executionKey(record.id),
		amendExecution(record, { lease: { ...lease, ttlMs, expiresAt, renewals: (lease.renewals ?? 0) + 1 } }),
	);
	const holder = { namespace: record.namespace, instanceId: lease.instanceId };
	if (!cancel) return { ok: true, expiresAt, holder };
	return {
		ok: true,
		expiresAt,
		holder,
		cancelRequested: true,
		...(cancel.reason ? { reason: cancel.reason } : undefined),
	};
}
