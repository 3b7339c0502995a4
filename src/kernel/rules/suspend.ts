import { holder } from "../changing.ts";
import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import {
	amendExecution,
	type ExecutionRecord,
	executionKey,
	partsOf,
	type TimeoutBehavior,
} from "../records/execution.ts";
import { amend } from "../records/record.ts";
import { type SuspensionRecord, suspensionKey, suspensionNameKey } from "../records/suspension.ts";
import type { WaitpointRecord } from "../records/waitpoint.ts";
import { waitpointKey } from "../records/waitpoint.ts";
import { type Condition, conditionFault } from "../suspension/condition.ts";
import { replayEarly } from "../suspension/early-signals.ts";
import { handing, hasGoneOn } from "../suspension/handing-over.ts";
import type { SuspensionReason } from "../suspension/reasons.ts";
import { beginSuspension, enterSuspension, type SuspensionTerms } from "../suspension/suspending.ts";
import { leaveWaitpoints, MOST_WAITPOINTS, openWaitpoint } from "../suspension/waitpoints.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";

export interface SuspendCommand extends Target {
	op: "suspend";
	fence?: Fence;
	reason: SuspensionReason;
	condition: Condition;
	/** `id` for one that is there already. */
	waitpoints: readonly { key: string; id?: string }[];
	timeoutAt?: number;
	timeoutMs?: number;
	timeoutBehavior?: TimeoutBehavior;
	resumeDelayMs?: number;
	idempotencyKey?: string;
	/** What tells this call from another under the same lease. */
	digest: string;
	/** One for the suspension and one for each waitpoint. */
	uuids: readonly string[];
}

/** `number` tells which of the execution's suspensions it is, for whoever reads its signals. */
export type SuspendOutcome = Outcome<
	| { status: "suspended" | "already_satisfied"; suspensionId: string; number: number; waitpoints: SuspendedAt[] }
	| { status: "cancelled" }
>;

/** A waitpoint of a suspension, with all that its token is made of. */
export interface SuspendedAt extends Pick<WaitpointRecord, "key" | "createdAt" | "expiresAt"> {
	id: string;
}

export function suspend(tx: Tx, command: SuspendCommand, now: number): SuspendOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "suspend");
	if (answer) return answer.ok ? repeated(tx, record, command) : answer;
	const deed = holder(record, now);
	if (record.cancel) {
		endCancelled(tx, record, "suspend", deed);
		return { ok: true, status: "cancelled" };
	}
	const { generation, suspensions } = partsOf(record);
	const earlier = earlierAnswer(tx, record, command, { epoch: record.epoch, generation, last: suspensions });
	if (earlier) return earlier;

	const timeoutAt = timeoutOf(record, command, now);
	const fault = faultOf(tx, record, command, timeoutAt, now);
	if (fault) return fault;
	const terms: SuspensionTerms = {
		reason: command.reason,
		condition: command.condition,
		keys: command.waitpoints.map(({ key }) => key),
		timeoutBehavior: command.timeoutBehavior ?? record.policy.suspension?.timeoutBehavior ?? "fail",
		resumeDelayMs: command.resumeDelayMs ?? 0,
		idempotencyKey: command.idempotencyKey ?? "",
		digest: command.digest,
		uuids: command.uuids,
	};
	if (timeoutAt !== undefined) terms.timeoutAt = timeoutAt;
	const begun = beginSuspension(tx, record, partsOf(record), terms, now);
	const { number, parts } = begun;
	if (terms.idempotencyKey !== "") {
		const name = suspensionNameKey(record.id, parts.generation, terms.idempotencyKey);
		const known = tx.get(name);
		tx.put(name, known ? amend(known, { number }) : { number });
	}
	const replayed = replayEarly(tx, record, number, begun.record, begun.earlier);
	if (replayed.leaves) {
		const { suspension, leaves: satisfiedBy } = replayed;
		leaveWaitpoints(tx, suspension.waitpoints, false, now);
		const over = amend(suspension, { satisfiedBy, endedAt: now, endedBy: "satisfied" } as const);
		tx.put(suspensionKey(record.id, number), over);
		tx.put(executionKey(record.id), amendExecution(record, { parts: handing(parts, over) }));
		return answerOf(tx, over, number, "already_satisfied");
	}
	const { suspension, isUnfinished: isReplaying } = replayed;
	enterSuspension(tx, record, { ...begun, record: suspension }, { terms, by: "suspend", isReplaying }, deed);
	if (tx.get(executionKey(record.id))?.lifecyclePhase === "terminal") return { ok: true, status: "cancelled" };
	return answerOf(tx, suspension, number, "suspended");
}

/**
 * The lease ended with this very call, or with one that followed it. Since then the execution may have been resumed and
 * suspended again.
 */
function repeated(tx: Tx, record: ExecutionRecord, command: SuspendCommand): SuspendOutcome {
	const { suspension: number } = (record.lastLease?.outcome ?? {}) as { suspension?: number };
	const suspension = number === undefined ? undefined : tx.get(suspensionKey(record.id, number));
	if (number === undefined || !suspension) return { ok: true, status: "cancelled" };
	const { epoch, generation, digest } = suspension;
	const of = { epoch, generation, last: number - 1 };
	const earlier = digest === command.digest ? undefined : earlierAnswer(tx, record, command, of);
	return earlier ?? answerOf(tx, suspension, number, "suspended");
}

/** The lease under which a call was made. */
interface LeaseOfCall {
	epoch: number;
	/** Of its execution, at that time. */
	generation: number;
	/** The latest suspension that the call can have made. */
	last: number;
}

/** Calls of one lease that are remembered. Each held at once, else it would have ended the lease. */
const MOST_REMEMBERED = 64;

/**
 * What was waited for under this key is over; or this call was made before, under the lease of this epoch, and held at
 * once: a message may come twice, and the second time after another call, or even after a replay.
 */
function earlierAnswer(
	tx: Tx,
	record: ExecutionRecord,
	{ idempotencyKey = "", digest }: SuspendCommand,
	{ epoch, generation, last }: LeaseOfCall,
): SuspendOutcome | undefined {
	const { id } = record;
	const { suspensions } = partsOf(record);
	if (idempotencyKey !== "") {
		const name = suspensionNameKey(id, generation, idempotencyKey);
		const number = (suspensions === 0 ? tx.getFresh(name) : tx.get(name))?.number;
		// What ended the lease was not over when the call was made.
		if (number === undefined || number > last) return undefined;
		const known = tx.get(suspensionKey(id, number));
		return known && hasGoneOn(known) ? answerOf(tx, known, number, "already_satisfied") : undefined;
	}
	for (let number = last; number > Math.max(0, last - MOST_REMEMBERED); number--) {
		const known = tx.get(suspensionKey(id, number));
		if (known?.epoch !== epoch) return undefined;
		if (known.digest === digest) return answerOf(tx, known, number, "already_satisfied");
	}
	return undefined;
}

function answerOf(
	tx: Tx,
	{ id, waitpoints }: SuspensionRecord,
	number: number,
	status: "suspended" | "already_satisfied",
): SuspendOutcome {
	const at = waitpoints.flatMap(({ id: waitpointId, key }): SuspendedAt[] => {
		const record = tx.get(waitpointKey(waitpointId));
		return record ? [{ id: waitpointId, key, createdAt: record.createdAt, expiresAt: record.expiresAt }] : [];
	});
	return { ok: true, status, suspensionId: id, number, waitpoints: at };
}

function timeoutOf({ policy }: ExecutionRecord, { timeoutAt, timeoutMs }: SuspendCommand, now: number) {
	const afterMs = timeoutMs ?? policy.suspension?.defaultTimeoutMs;
	return timeoutAt ?? (afterMs === undefined ? undefined : now + afterMs);
}

function faultOf(
	tx: Tx,
	record: ExecutionRecord,
	{ executionId, waitpoints, condition }: SuspendCommand,
	timeoutAt: number | undefined,
	now: number,
) {
	if (timeoutAt !== undefined && timeoutAt <= now)
		return refuse("timeout_in_past", { executionId, field: "timeoutAt", timeoutAt, now });
	const keys = waitpoints.map(({ key }) => key);
	const twice = keys.find((key, n) => keys.indexOf(key) < n);
	if (twice !== undefined) return refuse("duplicate_waitpoint", { executionId, field: "waitpoints", waitpoint: twice });
	for (const [n, { key, id }] of waitpoints.entries()) {
		if (id !== undefined && openWaitpoint(tx, record, key, now)?.id !== id)
			return refuse("waitpoint_unknown", { executionId, field: `waitpoints[${n}].id`, waitpoint: key });
	}
	const fault = conditionFault(condition, keys, timeoutAt !== undefined);
	if (fault) return refuse(fault.code, { executionId, field: fault.field, ...fault.details });
	if (partsOf(record).waitpoints + keys.length > MOST_WAITPOINTS)
		return refuse("too_many_waitpoints", { executionId, limit: MOST_WAITPOINTS });
	return undefined;
}
