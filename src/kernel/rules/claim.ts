import { Candidates } from "../candidates.ts";
import { type Leasing, lease } from "../leasing.ts";
import { canServe, type Offer } from "../matching.ts";
import type { Outcome } from "../outcome.ts";
import { type ClaimRequestRecord, makeClaimRequest } from "../records/claim-request.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { laneKey } from "../records/lane.ts";
import type { Key } from "../records/record.ts";
import type { Tx } from "../tx.ts";

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
	/** Bytes of input the reply may still carry. */
	inputBudget: number;
	/** Take the first whatever its size. */
	atLeastOne: boolean;
	/** Remembers what is taken, for whoever repeats the request; `call` is the same for all commands of one call. */
	request?: { key: Key<ClaimRequestRecord>; call: string };
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
}>;

export function claim(tx: Tx, command: ClaimCommand, now: number): ClaimOutcome {
	const { request } = command;
	if (request && isRepeated(tx.getFresh(request.key), request.call, now))
		return { ok: true, executions: [], scores: [], repeated: true };
	const copy = tx.get(laneKey(command.namespace, command.lane));
	if (copy?.state === "paused") return { ok: true, executions: [], scores: [], lanePaused: true };

	const candidates = new Candidates(tx, command.queues, command.max, now);
	const executions: ExecutionRecord[] = [];
	const scores: number[] = [];
	let bytes = 0;
	while (executions.length < command.max) {
		const record = candidates.next();
		if (!record) break;
		if (!isFor(command, record)) continue;
		bytes += record.input?.size ?? 0;
		if (bytes > command.inputBudget && !(command.atLeastOne && executions.length === 0)) break;
		const uuid = command.leaseUuids[executions.length];
		if (uuid === undefined) break;
		executions.push(lease(tx, record, command, uuid, now));
		scores.push(candidates.score);
		candidates.served();
	}
	if (request && executions.length > 0) rememberIn(tx, request, executions, now + command.leaseMs);
	return { ok: true, executions, scores, ...(candidates.cleared ? { cleared: true } : undefined) };
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
	const earlier = known?.call === call ? known.leases : [];
	const leases: [string, string][] = [
		...earlier,
		...executions.map((execution): [string, string] => [execution.id, execution.lease?.id ?? ""]),
	];
	tx.put(key, makeClaimRequest({ call, leases, expiresAt }));
}

/** The last word, whatever led here: an index may be out of date. */
export const isFor = (scope: ClaimScope, record: ExecutionRecord): boolean =>
	record.namespace === scope.namespace && record.lane === scope.lane && canServe(scope, record);
