import { type AdmissionStep, type AdmissionTerms, admit } from "../admission/admitting.ts";
import { isGuarded } from "../admission/guards.ts";
import { Candidates } from "../candidates.ts";
import { carriedBytes } from "../carried.ts";
import { isFlowUnreadable, passesFlow } from "../flows/gate.ts";
import { type Leasing, lease } from "../leasing.ts";
import { canServe, type Offer } from "../matching.ts";
import type { Outcome } from "../outcome.ts";
import { type ClaimRequestRecord, makeClaimRequest } from "../records/claim-request.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import type { GuardName } from "../records/guard.ts";
import { laneKey } from "../records/lane.ts";
import { amend, type Key } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import type { GrantCommand } from "./grant.ts";

/** Where a worker looks for work, and what it can serve. */
export interface ClaimScope extends Offer {
	namespace: string;
	lane: string;
	/** Where to look: eligible queues of this lane. The records found there decide. */
	queues: readonly string[];
}

export interface ClaimCommand extends ClaimScope, Leasing {
	op: "claim";
	max: number;
	/** Uuids for the leases, one per execution that may be claimed. */
	leaseUuids: readonly string[];
	/** Bytes the reply may still carry. */
	inputBudget: number;
	/** Take the first whatever its size. */
	atLeastOne: boolean;
	request?: RequestOfCall;
	admission?: AdmissionTerms;
}

/** Remembers what is taken, for whoever repeats the request; `call` is the same for all commands of one call. */
export interface RequestOfCall {
	key: Key<ClaimRequestRecord>;
	call: string;
}

/**
 * `lanePaused` says that there is no use in looking again before the lane changes, `repeated` that another call under
 * the same request id has taken leases here, which are the answer.
 */
export type ClaimOutcome = Outcome<{
	executions: ExecutionRecord[];
	/** Where each stood in its queue. */
	scores: number[];
	lanePaused?: true;
	repeated?: true;
	/** What stood at the head led nowhere and is gone now: it is worth looking again. */
	cleared?: true;
	/** What has yet to be admitted by budgets and quotas elsewhere. */
	held?: { record: ExecutionRecord; score: number }[];
	/** What was refused admission and set aside; `by` is to be looked at once more, if that is elsewhere. */
	blocked?: { record: ExecutionRecord; by?: GuardName }[];
}>;

/** What one command sets aside at most, so that no unit grows with what waits at the head. */
export const MOST_BLOCKED = 64;

export function claim(tx: Tx, command: ClaimCommand, now: number): ClaimOutcome {
	const { request } = command;
	if (request && isRepeated(tx, request, now)) return { ok: true, executions: [], scores: [], repeated: true };
	const copy = tx.get(laneKey(command.namespace, command.lane));
	if (copy?.state === "paused") return { ok: true, executions: [], scores: [], lanePaused: true };

	const candidates = new Candidates(tx, command.queues, wantedBy(command), now);
	const executions: ExecutionRecord[] = [];
	const scores: number[] = [];
	const held: { record: ExecutionRecord; score: number }[] = [];
	const blocked: NonNullable<Extract<ClaimOutcome, { ok: true }>["blocked"]> = [];
	const most = command.admission?.most ?? Number.POSITIVE_INFINITY;
	const deed = { now, actor: command.actor };
	let bytes = 0;
	let cancelled = 0;
	while (executions.length + held.length < command.max && blocked.length + cancelled < MOST_BLOCKED) {
		if (held.length + blocked.length >= most) break;
		const record = candidates.next();
		if (!record) break;
		if (!isFor(command, record) || isFlowUnreadable(tx, record)) continue;
		if (!passesFlow(tx, record, deed)) {
			cancelled += 1;
			candidates.setAside();
			continue;
		}
		const taken = executions.length + held.length;
		bytes += carriedBytes(record);
		if (bytes > command.inputBudget && !(command.atLeastOne && taken === 0)) break;
		const uuid = command.leaseUuids[taken];
		if (uuid === undefined) break;
		const admission = admissionOf(tx, command, record, uuid, now);
		if (admission.step === "admitted") {
			executions.push(lease(tx, record, command, uuid, now, admission.hold));
			scores.push(candidates.score);
			candidates.served();
		} else if (admission.step === "held") {
			held.push({ record: admission.record, score: candidates.score });
			candidates.served();
		} else {
			bytes -= carriedBytes(record);
			if (admission.step === "passed") continue;
			blocked.push(admission);
			candidates.setAside();
		}
	}
	if (request && executions.length > 0) {
		const leases = executions.map(({ id, lease }): [string, string] => [id, lease?.id ?? ""]);
		remember(tx, request, leases, now + command.leaseMs);
	}
	const outcome: ClaimOutcome = { ok: true, executions, scores };
	if (candidates.cleared || cancelled > 0) outcome.cleared = true;
	if (held.length > 0) outcome.held = held;
	if (blocked.length > 0) outcome.blocked = blocked;
	return outcome;
}

const UNGUARDED = { step: "admitted", hold: null } as const;

/** What has no budgets and quotas needs no admission. */
export function admissionOf(
	tx: Tx,
	command: Pick<ClaimCommand, "admission" | "actor"> | GrantCommand,
	record: ExecutionRecord,
	uuid: string,
	now: number,
): AdmissionStep | typeof UNGUARDED {
	if (!isGuarded(record)) return UNGUARDED;
	const { admission: terms, actor } = command;
	if (!terms) return { step: "passed" };
	return admit(tx, record, uuid, "grantUuid" in command, terms, { now, actor });
}

/** More are looked at where it is known already that some will be set aside. */
export const wantedBy = ({ max, admission }: Pick<ClaimCommand, "max" | "admission">): number =>
	admission && (admission.refused.size > 0 || admission.unreadable.size > 0) ? max + MOST_BLOCKED : max;

/** Whether another call under the same request id has taken something here, and it is not too long ago. */
export function isRepeated(tx: Tx, { key, call }: RequestOfCall, now: number): boolean {
	const known = tx.getFresh(key);
	return known !== undefined && known.call !== call && known.expiresAt > now;
}

/** A call takes from a partition more than once when it asks for much, or for several lanes. */
export function remember(
	tx: Tx,
	{ key, call }: RequestOfCall,
	leases: ClaimRequestRecord["leases"],
	expiresAt: number,
): void {
	const known = tx.getFresh(key);
	tx.put(
		key,
		known?.call === call
			? amend(known, { leases: known.leases.concat(leases), expiresAt })
			: makeClaimRequest({ call, leases, expiresAt }),
	);
}

/** The last word, whatever led here: an index may be out of date. */
export const isFor = (scope: ClaimScope, record: ExecutionRecord): boolean =>
	record.namespace === scope.namespace && record.lane === scope.lane && canServe(scope, record);
