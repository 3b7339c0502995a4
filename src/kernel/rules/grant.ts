import { type AdmissionTerms, uuidOfHold } from "../admission/admitting.ts";
import { Candidates } from "../candidates.ts";
import type { Deed } from "../changing.ts";
import { notActive } from "../fence.ts";
import { isFlowUnreadable, isHeldByFlow, passesFlow } from "../flows/gate.ts";
import { makeId, trustedSlot } from "../ids.ts";
import { lease } from "../leasing.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { type ExecutionRecord, executionKey, type Hold } from "../records/execution.ts";
import { type GrantRecord, grantKey, makeGrant } from "../records/grant.ts";
import { laneKey } from "../records/lane.ts";
import { amend } from "../records/record.ts";
import { eligible, granted } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import {
	admissionOf,
	type ClaimOutcome,
	type ClaimScope,
	isFor,
	isRepeated,
	MOST_BLOCKED,
	type RequestOfCall,
	remember,
	wantedBy,
} from "./claim.ts";

/** Whom work is reserved for, and how long. */
export interface Granting {
	/** The uuid of the grant, and of the lease to be. */
	grantUuid: string;
	grantTtlMs: number;
	workerId: string;
	instanceId: string;
}

export interface GrantCommand extends ClaimScope, Granting {
	op: "grant";
	actor: string;
	request?: RequestOfCall;
	admission?: AdmissionTerms;
}

/** Reserves the best there is for one worker, without leasing it: until it is accepted or lapses nobody else gets it. */
export function grant(tx: Tx, command: GrantCommand, now: number): ClaimOutcome {
	const { request } = command;
	if (request && isRepeated(tx, request, now)) return { ok: true, executions: [], scores: [], repeated: true };
	if (tx.get(laneKey(command.namespace, command.lane))?.state === "paused")
		return { ok: true, executions: [], scores: [], lanePaused: true };
	const candidates = new Candidates(tx, command.queues, wantedBy({ ...command, max: 1 }), now);
	const deed = { now, actor: command.actor };
	const outcome: ClaimOutcome = { ok: true, executions: [], scores: [] };
	for (let record = candidates.next(); record; record = candidates.next()) {
		if (!isFor(command, record) || isFlowUnreadable(tx, record)) continue;
		if (!passesFlow(tx, record, deed)) {
			outcome.cleared = true;
			candidates.setAside();
			continue;
		}
		const admission = admissionOf(tx, command, record, command.grantUuid, now);
		if (admission.step === "blocked") {
			(outcome.blocked ??= []).push(admission);
			candidates.setAside();
			if (outcome.blocked.length >= Math.min(MOST_BLOCKED, command.admission?.most ?? MOST_BLOCKED)) break;
		} else if (admission.step === "held") {
			outcome.held = [{ record: admission.record, score: candidates.score }];
			candidates.served();
			break;
		} else if (admission.step === "admitted") {
			const execution = grantTo(tx, record, command, deed, admission.hold);
			outcome.executions.push(execution);
			outcome.scores.push(candidates.score);
			candidates.served();
			if (request) remember(tx, request, [[record.id, execution.grant?.id ?? ""]], now + command.grantTtlMs);
			break;
		}
	}
	if (candidates.cleared) outcome.cleared = true;
	return outcome;
}

/** Makes an execution wait for one worker, with whatever admitted it. */
export function grantTo(
	tx: Tx,
	record: ExecutionRecord,
	{ grantUuid, grantTtlMs, workerId, instanceId }: Granting,
	deed: Deed,
	hold: Hold | null,
): ExecutionRecord {
	const { id: executionId, namespace } = record;
	const grantId = makeId("gr", grantUuid, trustedSlot(executionId));
	const expiresAt = deed.now + grantTtlMs;
	const changes: Partial<ExecutionRecord> = granted(record.attemptState);
	changes.grant = { id: grantId, expiresAt, workerId, instanceId };
	if (hold) {
		changes.hold = hold;
		changes.blockingDetail = "";
		changes.blockedAt = 0;
	}
	const key = grantKey(grantId);
	tx.getFresh(key);
	tx.put(key, makeGrant({ executionId, namespace, instanceId, expiresAt }));
	return transition(tx, record, changes, deed, { type: "granted", grantId, expiresAt, workerId });
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
	if (isHeldByFlow(tx, record)) return refuse("flow_cancelled", { grantId, flowId: record.flowId });
	if (tx.get(laneKey(record.namespace, record.lane))?.state === "paused")
		return refuse("lane_paused", { grantId, lane: record.lane });
	const leasing = { workerId: grant.workerId, instanceId, leaseMs: command.leaseMs, actor: command.actor };
	const uuid = record.hold ? uuidOfHold(record.hold.id) : command.leaseUuid;
	const execution = lease(tx, record, leasing, uuid, now);
	tx.put(grantKey(grantId), amend(known, { leaseId: execution.lease?.id ?? "" }));
	return { ok: true, execution };
}

/** Nobody accepted it in time: it goes back to where it stood. */
export function lapseGrant(tx: Tx, record: ExecutionRecord, deed: Deed): void {
	const { id = "", instanceId = "" } = record.grant ?? {};
	const changes: Partial<ExecutionRecord> = eligible(record.attemptState);
	changes.grant = null;
	changes.hold = null;
	transition(tx, record, changes, deed, { type: "grant_lapsed", grantId: id, instanceId });
}
