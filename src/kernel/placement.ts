import { type BlockingCause, blockingCauseOf } from "./blocking.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { isSetApart, type LaneHomeRecord } from "./records/lane.ts";
import { fairQueue, type TicketRecord } from "./records/ticket.ts";
import { type WorkerRecord, workerExpiresAt } from "./records/worker.ts";
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

export const eligibleQueuesOf = (namespace: string): string => `${ELIGIBLE}${namespace},`;

export const eligibleQueuePrefix = (namespace: string, lane: string): string =>
	`${eligibleQueuesOf(namespace)}${lane},`;

/** What all executions of one queue have in common: a worker can serve all of them or none. */
export interface WorkClass {
	namespace: string;
	lane: string;
	kind: string;
	/** Sorted, each once. */
	requiredCapabilities: readonly string[];
}

/**
 * Work that waits is queued by its class, so that a claim looks only at what it can serve. The name says all of it, and
 * can be taken apart again: namespaces and lanes hold no comma, capabilities neither comma nor space, and the kind, which
 * may hold both, comes last. A digest would be shorter for long lists only, and would need a record to be undone.
 */
export function eligibleQueue({ namespace, lane, kind, requiredCapabilities }: WorkClass): string {
	if (requiredCapabilities.length === 0) return plainQueue(namespace, lane, kind);
	return sameText(`${eligibleQueuePrefix(namespace, lane)}${requiredCapabilities.join(" ")},${kind}`);
}

const plainQueue = sameName((namespace, lane, kind) => `${eligibleQueuePrefix(namespace, lane)},${kind}`);

export function classOfQueue(queue: string): WorkClass {
	const namespaceEnd = queue.indexOf(",", ELIGIBLE.length);
	const laneEnd = queue.indexOf(",", namespaceEnd + 1);
	const capabilitiesEnd = queue.indexOf(",", laneEnd + 1);
	const capabilities = queue.slice(laneEnd + 1, capabilitiesEnd);
	return {
		namespace: queue.slice(ELIGIBLE.length, namespaceEnd),
		lane: queue.slice(namespaceEnd + 1, laneEnd),
		requiredCapabilities: capabilities === "" ? [] : capabilities.split(" "),
		kind: queue.slice(capabilitiesEnd + 1),
	};
}

/** Names made lately; see `sameName`. */
const names = new Map<string, string>();
const MOST_NAMES = 4096;

function sameText(name: string): string {
	const known = names.get(name);
	if (known !== undefined) return known;
	if (names.size >= MOST_NAMES) names.clear();
	names.set(name, name);
	return name;
}

/**
 * Gives the very same text as the last time, not an equal one, when it is asked for the same again, as it mostly is:
 * text that was looked up once in a table is found again without being read.
 */
function sameName<L extends string>(make: (namespace: string, lane: string, last: L) => string) {
	let made = { namespace: "", lane: "", last: "" as L, name: "" };
	return (namespace: string, lane: string, last: L): string => {
		if (made.last !== last || made.lane !== lane || made.namespace !== namespace || made.name === "") {
			made = { namespace, lane, last, name: sameText(make(namespace, lane, last)) };
		}
		return made.name;
	};
}

/** How the names of queues that lists are read from begin. */
export const LIST = "list,";

export const listQueuePrefix = (namespace: string, lane?: string): string =>
	lane === undefined ? `${LIST}${namespace},` : `${LIST}${namespace},${lane},`;

export const listQueue = sameName<PublicState>((namespace, lane, state) => listQueuePrefix(namespace, lane) + state);

/** The lane and state a list queue of this namespace is about. */
export function listQueueParts(namespace: string, queue: string): { lane: string; state: PublicState } {
	const rest = queue.slice(listQueuePrefix(namespace).length);
	const comma = rest.lastIndexOf(",");
	return { lane: rest.slice(0, comma), state: rest.slice(comma + 1) as PublicState };
}

/** What a list queue is about. */
export function listQueueSubject(queue: string): { namespace: string; lane: string; state: PublicState } {
	const namespace = queue.slice(LIST.length, queue.indexOf(",", LIST.length));
	return { namespace, ...listQueueParts(namespace, queue) };
}

/** When the execution at this place of a list queue was created. */
export const createdAtOfListEntry = (entry: { score: number }): number => -entry.score;

/** How the names of registries begin. */
export const WORKERS = "workers,";

/** The worker instances of a namespace, in the order they came. */
export const workersQueue = (namespace: string): string => WORKERS + namespace;

/** How the names of queues begin in which work waits that something keeps from running. */
export const BLOCKED = "blocked,";

export const blockedQueuePrefix = (cause: BlockingCause, namespace?: string): string =>
	namespace === undefined ? `${BLOCKED}${cause},` : `${BLOCKED}${cause},${namespace},`;

/** Named by cause and object: what stands in one queue waits for the same thing. */
const blockedQueue = (cause: BlockingCause, namespace: string, object: string): string =>
	blockedQueuePrefix(cause, namespace) + object;

/** What work in a queue of blocked work waits for, and whose it is. Neither causes nor namespaces hold a comma. */
export function blockedQueueSubject(queue: string): { cause: BlockingCause; namespace: string; object: string } {
	const causeEnd = queue.indexOf(",", BLOCKED.length);
	const namespaceEnd = queue.indexOf(",", causeEnd + 1);
	return {
		cause: queue.slice(BLOCKED.length, causeEnd) as BlockingCause,
		namespace: queue.slice(causeEnd + 1, namespaceEnd),
		object: queue.slice(namespaceEnd + 1),
	};
}

/** Where work waits that no live worker can serve, by what a worker must offer for it to be released. */
export const routeQueue = ({
	namespace,
	requiredCapabilities,
}: Pick<WorkClass, "namespace" | "requiredCapabilities">): string =>
	blockedQueue("route", namespace, requiredCapabilities.join(" "));

/** Which capabilities work in this queue needs, and whose it is. */
export function routeQueueSubject(queue: string): { namespace: string; requiredCapabilities: string[] } {
	const { namespace, object } = blockedQueueSubject(queue);
	return { namespace, requiredCapabilities: object.split(" ") };
}

/** How the names of lists of lanes begin. */
export const LANES = "lanes,";

/** Lanes of a namespace that differ from one nobody has touched. */
export const lanesQueue = (namespace: string): string => LANES + namespace;

/*
 * Where records are queued, by type: pure functions of the record, so an index can always be rebuilt and checked.
 */

/** A record that is only kept until a time. */
export const untilDue = (at: number): Placement[] => [{ queue: DUE_QUEUE, score: at }];

export function executionPlacement(record: ExecutionRecord): Placement[] {
	const places: Placement[] = [];
	const [timer] = timersOf(record);
	if (timer) places.push({ queue: DUE_QUEUE, score: timer.at });
	if (record.removing) return places;
	places.push({
		queue: listQueue(record.namespace, record.lane, publicState(record)),
		score: -record.createdAt,
	});
	if (isClaimable(record)) {
		const queue = record.fairnessKey === "" ? eligibleQueue(record) : fairQueue(record);
		places.push({ queue, score: queueScore(record) });
	} else if (blockingCauseOf(record) === "route") {
		places.push({ queue: routeQueue(record), score: queueScore(record) });
	}
	return places;
}

export const ticketPlacement = (record: TicketRecord): Placement[] =>
	record.idleAt > 0
		? [{ queue: DUE_QUEUE, score: record.idleAt }]
		: [{ queue: eligibleQueue(record), score: ticketScore(record) }];

export function laneHomePlacement(record: LaneHomeRecord): Placement[] {
	const places: Placement[] = [];
	if (record.spreadAt > 0) places.push({ queue: DUE_QUEUE, score: record.spreadAt });
	if (isSetApart(record)) places.push({ queue: lanesQueue(record.namespace), score: 0 });
	return places;
}

/** Its place among the workers stays when it is seen again: a sign of life moves one entry, not two. */
export const workerPlacement = (record: WorkerRecord): Placement[] => [
	{ queue: DUE_QUEUE, score: workerExpiresAt(record) },
	{ queue: workersQueue(record.namespace), score: record.registeredAt },
];

export const isClaimable = (record: ExecutionRecord): boolean =>
	record.lifecyclePhase === "runnable" &&
	record.eligibilityState === "eligible_now" &&
	record.ownershipState === "unowned" &&
	!record.removing;

/** Ascending: each step of priority is worth `agingMs` of waiting. */
export const queueScore = (record: ExecutionRecord): number => record.createdAt - record.priority * record.agingMs;

/** Like the work it stands for, with the time of its turn for its age. */
export const ticketScore = (record: TicketRecord): number => record.turnAt - record.priority * record.agingMs;
