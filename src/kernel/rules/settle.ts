import { endAdmission, refuseAdmission, uuidOfHold } from "../admission/admitting.ts";
import type { HoldRefusal } from "../admission/holding.ts";
import { passesFlow } from "../flows/gate.ts";
import { type Leasing, lease } from "../leasing.ts";
import type { Outcome } from "../outcome.ts";
import { queueScore } from "../placement.ts";
import { type ExecutionRecord, executionKey, type Hold } from "../records/execution.ts";
import type { GuardName } from "../records/guard.ts";
import { laneKey } from "../records/lane.ts";
import type { OutboxRecord } from "../records/outbox.ts";
import type { Key } from "../records/record.ts";
import type { Tx } from "../tx.ts";
import { isRepeated, type RequestOfCall, remember } from "./claim.ts";
import { type Granting, grantTo } from "./grant.ts";

/** What became of the admission of an execution. */
export interface Settlement {
	executionId: string;
	holdId: string;
	fate: /** `keeps` names quotas whose slots it keeps when it is suspended. */
		| { admittedAt: number; keeps?: readonly string[] }
		| { refusedBy: GuardName; refusal: HoldRefusal }
		/** Something could not be asked, or was asked too late. */
		| "dropped";
}

export interface SettleCommand {
	op: "settle";
	namespace: string;
	lane: string;
	settlements: readonly Settlement[];
	/** One of them: whom it is for. */
	leasing?: Leasing;
	granting?: Granting;
	request?: RequestOfCall;
	actor: string;
}

export type SettleOutcome = Outcome<{
	executions: ExecutionRecord[];
	/** Where each stood in its queue. */
	scores: number[];
	/** Those that were set aside. */
	blocked: ExecutionRecord[];
	lanePaused?: true;
	repeated?: true;
}>;

/**
 * The last step of admission: whatever is still held under its id is leased or granted, set aside, or put back. What is no
 * longer held was cancelled, has expired or was put back by its time, and that step gave everything back.
 */
export function settle(tx: Tx, command: SettleCommand, now: number): SettleOutcome {
	const { namespace, lane, settlements, leasing, granting, request, actor } = command;
	const deed = { now, actor };
	const repeated = request !== undefined && isRepeated(tx, request, now);
	const lanePaused = tx.get(laneKey(namespace, lane))?.state === "paused";
	tx.expect(settlements.map(({ executionId }) => executionKey(executionId)));
	const executions: ExecutionRecord[] = [];
	const scores: number[] = [];
	const blocked: ExecutionRecord[] = [];
	for (const { executionId, holdId, fate } of settlements) {
		const record = tx.get(executionKey(executionId));
		const hold = record?.hold;
		if (!record || !hold || hold.id !== holdId || hold.until === 0) continue;
		if (fate === "dropped" || repeated || lanePaused || isLateRefusal(fate, hold, now)) endAdmission(tx, record, deed);
		else if (!passesFlow(tx, record, deed)) continue;
		else if ("refusedBy" in fate) blocked.push(refuseAdmission(tx, record, fate.refusedBy, fate.refusal, deed));
		else {
			const { admittedAt, keeps } = fate;
			const admitted: Hold = { ...hold, until: 0, admittedAt: admittedAt || now };
			if (keeps) admitted.keeps = keeps;
			scores.push(queueScore(record));
			if (granting) executions.push(grantTo(tx, record, granting, deed, admitted));
			else if (leasing) executions.push(lease(tx, record, leasing, uuidOfHold(hold.id), now, admitted));
		}
	}
	if (request && executions.length > 0) {
		const taken = executions.map(({ id, lease: held, grant }): [string, string] => [id, held?.id ?? grant?.id ?? ""]);
		remember(tx, request, taken, now + (leasing?.leaseMs ?? granting?.grantTtlMs ?? 0));
	}
	return {
		ok: true,
		executions,
		scores,
		blocked,
		...(lanePaused ? { lanePaused } : undefined),
		...(repeated ? { repeated } : undefined),
	};
}

/**
 * What refused it expects it to come and wait for only so long after that: set aside later, after everything stood still,
 * it would not be found when there is room.
 */
const isLateRefusal = (fate: Settlement["fate"], { until }: Hold, now: number): boolean =>
	fate !== "dropped" && "refusedBy" in fate && until <= now;

export interface SentCommand {
	op: "sent";
	keys: readonly Key<OutboxRecord>[];
}

/** These messages have arrived. */
export function sent(tx: Tx, { keys }: SentCommand): Outcome {
	tx.expect(keys);
	for (const key of keys) if (tx.get(key)) tx.remove(key);
	return { ok: true };
}
