import type { ExecutionRecord } from "./records/execution.ts";
import type { IdempotencyKeyRecord } from "./records/idempotency-key.ts";
import { recordTypeOf } from "./records/record-types.ts";
import { type PublicState, publicState } from "./state.ts";
import { timersOf } from "./timers.ts";

/** One place a record is queued in. */
export interface Placement {
	queue: string;
	score: number;
}

/** The one index of everything with a due time. */
export const DUE_QUEUE = "due";

/** How the names of queues that claims look at begin. */
export const ELIGIBLE = "eligible,";

/** Namespaces and lanes hold no comma, so a queue's name can be taken apart again; the kind comes last and may. */
export const eligibleQueuePrefix = (namespace: string, lane: string): string => `${ELIGIBLE}${namespace},${lane},`;

export const eligibleQueue = (namespace: string, lane: string, kind: string): string =>
	eligibleQueuePrefix(namespace, lane) + kind;

export const listQueuePrefix = (namespace: string, lane?: string): string =>
	lane === undefined ? `list,${namespace},` : `list,${namespace},${lane},`;

export const listQueue = (namespace: string, lane: string, state: PublicState): string =>
	listQueuePrefix(namespace, lane) + state;

/** Where a record is queued: a pure function of the record, so an index can always be rebuilt and checked. */
export function placement(key: string, record: object): Placement[] {
	switch (recordTypeOf(key)) {
		case "execution":
			return executionPlacement(record as ExecutionRecord);
		case "idempotencyKey":
			return [{ queue: DUE_QUEUE, score: (record as IdempotencyKeyRecord).expiresAt }];
		default:
			return [];
	}
}

function executionPlacement(record: ExecutionRecord): Placement[] {
	const places: Placement[] = [];
	const [timer] = timersOf(record);
	if (timer) places.push({ queue: DUE_QUEUE, score: timer.at });
	if (record.removing) return places;
	places.push({
		queue: listQueue(record.namespace, record.lane, publicState(record)),
		score: -record.createdAt,
	});
	if (isClaimable(record)) {
		places.push({ queue: eligibleQueue(record.namespace, record.lane, record.kind), score: queueScore(record) });
	}
	return places;
}

export const isClaimable = (record: ExecutionRecord): boolean =>
	record.lifecyclePhase === "runnable" &&
	record.eligibilityState === "eligible_now" &&
	record.ownershipState === "unowned" &&
	!record.removing;

/** Ascending: each step of priority is worth `agingMs` of waiting. */
export const queueScore = (record: ExecutionRecord): number => record.createdAt - record.priority * record.agingMs;
