import { makeId, trustedSlot } from "../ids.ts";
import type { Outcome } from "../outcome.ts";
import { canServe } from "../matching.ts";
import { isClaimable } from "../placement.ts";
import { attemptKey, makeAttemptRecord } from "../records/attempt.ts";
import { type ClaimRequestRecord, makeClaimRequest } from "../records/claim-request.ts";
import { type Attempt, type AttemptType, type ExecutionRecord, executionKey } from "../records/execution.ts";
import { laneKey } from "../records/lane.ts";
import type { Key } from "../records/record.ts";
import { claimed } from "../state.ts";
import { copyOf, transition } from "../transition.ts";
import type { Entry, Tx } from "../tx.ts";

export interface ClaimCommand {
	op: "claim";
	namespace: string;
	lane: string;
	/** Where to look: eligible queues of this lane. The records found there decide. */
	queues: readonly string[];
	kinds: readonly string[] | undefined;
	/** Sorted, each once. */
	capabilities: readonly string[];
	max: number;
	/** Uuids for the leases, one per execution that may be claimed. */
	leaseUuids: readonly string[];
	leaseMs: number;
	workerId: string;
	instanceId: string;
	/** Bytes of input the reply may still carry. */
	inputBudget: number;
	/** Take the first whatever its size. */
	atLeastOne: boolean;
	actor: string;
	/** Remembers what is taken, for whoever repeats the request; `call` is the same for all commands of one call. */
	request?: { key: Key<ClaimRequestRecord>; call: string };
}

/**
 * `lanePaused` says that there is no use in looking again before the lane changes, `repeated` that another call under
 * the same request id has taken leases here, which are the answer.
 */
export type ClaimOutcome = Outcome<{ executions: ExecutionRecord[]; lanePaused?: true; repeated?: true }>;

/** Candidates looked at beyond `max`, so that a few stale entries at the head cost no second call. */
const SPARE_CANDIDATES = 8;

export function claim(tx: Tx, command: ClaimCommand, now: number): ClaimOutcome {
	const { request } = command;
	if (request && isRepeated(tx.getFresh(request.key), request.call, now))
		return { ok: true, executions: [], repeated: true };
	const copy = tx.get(laneKey(command.namespace, command.lane));
	if (copy?.state === "paused") return { ok: true, executions: [], lanePaused: true };

	const candidates = bestOf(tx, command.queues, command.max + SPARE_CANDIDATES);
	tx.expect(candidates.slice(0, command.max).map((entry) => entry.key));
	const executions: ExecutionRecord[] = [];
	let bytes = 0;
	for (const { key } of candidates) {
		if (executions.length >= command.max) break;
		const record = tx.getReadable(executionKey(key));
		if (!record || !matches(record, command)) continue;
		bytes += record.input?.size ?? 0;
		if (bytes > command.inputBudget && !(command.atLeastOne && executions.length === 0)) break;
		const uuid = command.leaseUuids[executions.length];
		if (uuid === undefined) break;
		executions.push(lease(tx, record, command, uuid, now));
	}
	if (request && executions.length > 0) rememberIn(tx, request, executions, now + command.leaseMs);
	return { ok: true, executions };
}

const isRepeated = (known: ClaimRequestRecord | undefined, call: string, now: number): boolean =>
	known !== undefined && known.call !== call && known.expiresAt > now;

/** A call takes from a partition more than once when it asks for much, or for several lanes. */
function rememberIn(
	tx: Tx,
	{ key, call }: NonNullable<ClaimCommand["request"]>,
	executions: ExecutionRecord[],
	expiresAt: number,
): void {
	const known = tx.getFresh(key);
	const leases: [string, string][] = executions.map((execution) => [execution.id, execution.lease?.id ?? ""]);
	if (known?.call === call) leases.unshift(...known.leases);
	tx.put(key, makeClaimRequest({ call, leases, expiresAt }));
}

function matches(record: ExecutionRecord, command: ClaimCommand): boolean {
	return (
		isClaimable(record) &&
		record.namespace === command.namespace &&
		record.lane === command.lane &&
		canServe(command, record)
	);
}

function bestOf(tx: Tx, queues: readonly string[], count: number): readonly Entry[] {
	if (queues.length === 1 && queues[0] !== undefined) return tx.first(queues[0], count);
	return queues
		.flatMap((queue) => tx.first(queue, count))
		.sort((a, b) => a.score - b.score || (a.key < b.key ? -1 : 1))
		.slice(0, count);
}

function lease(tx: Tx, record: ExecutionRecord, command: ClaimCommand, uuid: string, now: number): ExecutionRecord {
	const { workerId, instanceId, leaseMs } = command;
	const epoch = record.epoch + 1;
	const attempt = attemptFor(tx, record, workerId, instanceId, now);
	const id = makeId("le", uuid, trustedSlot(record.id));
	const expiresAt = now + leaseMs;
	const changes: Partial<ExecutionRecord> = claimed();
	changes.attempt = attempt;
	changes.epoch = epoch;
	changes.lease = { id, epoch, ttlMs: leaseMs, acquiredAt: now, expiresAt, workerId, instanceId };
	changes.startedAt = record.startedAt || now;
	changes.delayUntil = 0;
	return transition(
		tx,
		record,
		changes,
		{ now, actor: command.actor },
		{ type: "claimed", attemptType: attempt.type, leaseId: id, epoch, expiresAt, workerId },
	);
}

/** The attempt this lease runs: the one that was interrupted, or a new one, the old moving into its own record. */
function attemptFor(tx: Tx, record: ExecutionRecord, workerId: string, instanceId: string, now: number): Attempt {
	const { attempt } = record;
	if (attempt && attempt.endedAt === undefined) {
		const same = copyOf(attempt);
		same.state = "started";
		same.workerId = workerId;
		same.instanceId = instanceId;
		return same;
	}
	if (attempt) {
		const key = attemptKey(record.id, attempt.index);
		tx.getFresh(key);
		tx.put(key, makeAttemptRecord(attempt));
	}
	return {
		index: attempt ? attempt.index + 1 : 0,
		type: nextAttemptType(record),
		state: "started",
		workerId,
		instanceId,
		startedAt: now,
	};
}

function nextAttemptType(record: ExecutionRecord): AttemptType {
	switch (record.attemptState) {
		case "pending_retry_attempt":
			return "retry";
		case "pending_replay_attempt":
			return "replay";
		case "attempt_interrupted":
			return "reclaim";
		default:
			return "initial";
	}
}
