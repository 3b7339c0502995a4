import { Candidates } from "../candidates.ts";
import { notActive } from "../fence.ts";
import { makeId, trustedSlot } from "../ids.ts";
import { lease } from "../leasing.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { type GrantRecord, grantKey, makeGrant } from "../records/grant.ts";
import { laneKey } from "../records/lane.ts";
import { amend } from "../records/record.ts";
import { granted } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { type ClaimOutcome, type ClaimScope, isFor, isRepeated, type RequestOfCall, remember } from "./claim.ts";

export interface GrantCommand extends ClaimScope {
	op: "grant";
	grantUuid: string;
	grantTtlMs: number;
	workerId: string;
	instanceId: string;
	actor: string;
	request?: RequestOfCall;
}

/** Reserves the best there is for one worker, without leasing it: until it is accepted or lapses nobody else gets it. */
export function grant(tx: Tx, command: GrantCommand, now: number): ClaimOutcome {
	const { request } = command;
	if (request && isRepeated(tx, request, now)) return { ok: true, executions: [], scores: [], repeated: true };
	if (tx.get(laneKey(command.namespace, command.lane))?.state === "paused")
		return { ok: true, executions: [], scores: [], lanePaused: true };
	const candidates = new Candidates(tx, command.queues, 1, now);
	let record = candidates.next();
	while (record && !isFor(command, record)) record = candidates.next();
	if (!record) return { ok: true, executions: [], scores: [], ...(candidates.cleared ? { cleared: true } : undefined) };

	const { workerId, instanceId, namespace } = command;
	const grantId = makeId("gr", command.grantUuid, trustedSlot(record.id));
	const expiresAt = now + command.grantTtlMs;
	const changes: Partial<ExecutionRecord> = granted(record.attemptState);
	changes.grant = { id: grantId, expiresAt, workerId, instanceId };
	const event = { type: "granted", grantId, expiresAt, workerId } as const;
	const execution = transition(tx, record, changes, { now, actor: command.actor }, event);
	const { score } = candidates;
	const key = grantKey(grantId);
	tx.getFresh(key);
	tx.put(key, makeGrant({ executionId: record.id, namespace, instanceId, expiresAt }));
	if (request) remember(tx, request, [[record.id, grantId]], expiresAt);
	candidates.served();
	return { ok: true, executions: [execution], scores: [score] };
}

/** Whether a grant still holds its execution: nobody has accepted it yet, or whoever did still has the lease. */
export const isGrantHeld = (id: string, { leaseId }: GrantRecord, { grant, lease }: ExecutionRecord): boolean =>
	grant?.id === id || (leaseId !== "" && lease?.id === leaseId);

export interface AcceptGrantCommand {
	op: "acceptGrant";
	grantId: string;
	/** Set for a caller bound to a namespace: grants of any other do not exist for it. */
	namespace?: string;
	instanceId: string;
	leaseUuid: string;
	leaseMs: number;
	actor: string;
}

export type AcceptGrantOutcome = Outcome<{ execution: ExecutionRecord }>;

/** Turns a grant into a lease. Said again by the same instance it gives the same lease, while that is held. */
export function acceptGrant(tx: Tx, command: AcceptGrantCommand, now: number): AcceptGrantOutcome {
	const { grantId, instanceId } = command;
	const known = tx.get(grantKey(grantId));
	if (!known || (command.namespace !== undefined && known.namespace !== command.namespace))
		return refuse("grant_not_found", { grantId });
	if (known.instanceId !== instanceId) return refuse("grant_of_other_instance", { grantId, field: "instanceId" });
	const record = tx.get(executionKey(known.executionId));
	if (record?.lease && record.lease.id === known.leaseId) return { ok: true, execution: record };
	if (record && (known.leaseId !== "" || record.lifecyclePhase === "terminal")) return notActive(record);
	const { grant } = record ?? {};
	if (!record || !grant || grant.id !== grantId || grant.expiresAt <= now)
		return refuse("grant_expired", { grantId, executionId: known.executionId, expiresAt: known.expiresAt });
	if (tx.get(laneKey(record.namespace, record.lane))?.state === "paused")
		return refuse("lane_paused", { grantId, lane: record.lane });
	const leasing = { workerId: grant.workerId, instanceId, leaseMs: command.leaseMs, actor: command.actor };
	const execution = lease(tx, record, leasing, command.leaseUuid, now);
	tx.put(grantKey(grantId), amend(known, { leaseId: execution.lease?.id ?? "" }));
	return { ok: true, execution };
}
