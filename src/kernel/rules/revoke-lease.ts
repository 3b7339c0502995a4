import { endAttemptIn, leaseEvent, takeLease } from "../changing.ts";
import { type Outcome, refuse } from "../outcome.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { eligible } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";

export interface RevokeLeaseCommand extends Target {
	op: "revokeLease";
	expectedLeaseId?: string;
	reason?: string;
	actor: string;
}

export type RevokeLeaseOutcome = Outcome<
	{ revoked: true; leaseId: string; epoch: number } | { revoked: false; reason: "no_active_lease" }
>;

/** An operator takes the lease away. The next claim starts a reclaim attempt, but it is not counted as a lost lease. */
export function revokeLease(tx: Tx, command: RevokeLeaseCommand, now: number): RevokeLeaseOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const { lease } = record;
	if (!lease) return { ok: true, revoked: false, reason: "no_active_lease" };
	if (command.expectedLeaseId !== undefined && command.expectedLeaseId !== lease.id) {
		return refuse("stale_lease", { field: "expectedLeaseId", executionId: record.id, epoch: record.epoch });
	}
	const deed = { now, actor: command.actor };
	if (record.cancel) {
		endCancelled(tx, record, "revoked", deed);
	} else {
		const changes: Partial<ExecutionRecord> = eligible("attempt_interrupted");
		takeLease(changes, record, now, "revoked");
		const over = endAttemptIn(changes, record, "interrupted_reclaimed", now);
		if (over) over.isRevoked = true;
		changes.eligibleAt = now;
		const event = leaseEvent("lease_revoked", record);
		event.leaseId = lease.id;
		if (command.reason !== undefined) event.reason = command.reason;
		transition(tx, record, changes, deed, event);
	}
	return { ok: true, revoked: true, leaseId: lease.id, epoch: lease.epoch };
}
