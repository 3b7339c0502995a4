import { isGuarded } from "./admission/guards.ts";
import { type BlockingCause, blockingCauseOf, pausingBudget } from "./blocking.ts";
import { type BudgetRecord, LEDGER_PREFIX, type LedgerEntryRecord, type UsageKeyRecord } from "./records/budget.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import type { FlowRecord } from "./records/flow.ts";
import { type GuardKind, type GuardName, type GuardRecord, guardPartSubject, guardSubject } from "./records/guard.ts";
import { type HoldRecord, holdSubject } from "./records/hold.ts";
import { type KeyringRecord, removalOf } from "./records/keyring.ts";
import { isSetApart, type LaneHomeRecord } from "./records/lane.ts";
import { type SignalRecord, signalSubject } from "./records/signal.ts";
import { type StepRecord, stepSubject } from "./records/step.ts";
import { fairQueue, type TicketRecord } from "./records/ticket.ts";
import type { WaitpointRecord } from "./records/waitpoint.ts";
import { type WorkerRecord, workerExpiresAt } from "./records/worker.ts";
import { type BlockingReason, type PublicState, publicState } from "./state.ts";
import { flowTimersOf, timersOf } from "./timers.ts";

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
	/** Whether budgets or quotas must admit it, which takes more than one step. */
	isGuarded?: boolean;
}

/**
 * Work that waits is queued by its class, so that a claim looks only at what it can serve. The name says all of it, and
 * can be taken apart again: namespaces and lanes hold no comma, capabilities neither comma nor space, and the kind, which
 * may hold both, comes last. A space before the capabilities tells of work that must be admitted. A digest would be shorter
 * for long lists only, and would need a record to be undone.
 */
export function eligibleQueue({ namespace, lane, kind, requiredCapabilities, isGuarded: guarded }: WorkClass): string {
	if (requiredCapabilities.length === 0 && !guarded) return plainQueue(namespace, lane, kind);
	const capabilities = `${guarded ? " " : ""}${requiredCapabilities.join(" ")}`;
	return sameText(`${eligibleQueuePrefix(namespace, lane)}${capabilities},${kind}`);
}

/** Where an execution waits that nothing else leads to. */
const queueOf = (record: ExecutionRecord): string =>
	isGuarded(record) ? eligibleQueue({ ...classOf(record), isGuarded: true }) : eligibleQueue(record);

const classOf = ({ namespace, lane, kind, requiredCapabilities }: WorkClass): WorkClass => ({
	namespace,
	lane,
	kind,
	requiredCapabilities,
});

const plainQueue = sameName((namespace, lane, kind) => `${eligibleQueuePrefix(namespace, lane)},${kind}`);

export function classOfQueue(queue: string): WorkClass {
	const namespaceEnd = queue.indexOf(",", ELIGIBLE.length);
	const laneEnd = queue.indexOf(",", namespaceEnd + 1);
	const capabilitiesEnd = queue.indexOf(",", laneEnd + 1);
	const guarded = isGuardedQueue(queue);
	const capabilities = queue.slice(laneEnd + (guarded ? 2 : 1), capabilitiesEnd);
	return {
		namespace: queue.slice(ELIGIBLE.length, namespaceEnd),
		lane: queue.slice(namespaceEnd + 1, laneEnd),
		requiredCapabilities: capabilities === "" ? [] : capabilities.split(" "),
		kind: queue.slice(capabilitiesEnd + 1),
		isGuarded: guarded,
	};
}

/** Whether work in an eligible queue must be admitted by budgets or quotas. */
export function isGuardedQueue(queue: string): boolean {
	const laneEnd = queue.indexOf(",", queue.indexOf(",", ELIGIBLE.length) + 1);
	return queue.charAt(laneEnd + 1) === " ";
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

/** How the names of queues begin that are only ever read by whoever knows what they belong to. */
const PARTS = "part,";

/** How the names of queues of suspended executions begin. */
export const SUSPENDED = `${PARTS}suspended,`;

/** Suspended executions of a namespace by why they are, longest first. */
const suspendedQueue = (namespace: string, reason: BlockingReason): string => `${SUSPENDED}${reason},${namespace}`;

/** Why what stands in such a queue is suspended, and whose it is. */
export function suspendedQueueSubject(queue: string): { reason: BlockingReason; namespace: string } {
	const comma = queue.indexOf(",", SUSPENDED.length);
	return { reason: queue.slice(SUSPENDED.length, comma) as BlockingReason, namespace: queue.slice(comma + 1) };
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

/** Where work waits for a budget or quota. */
export const waitersQueue = (kind: GuardKind, namespace: string, id: string): string =>
	blockedQueue(kind, namespace, id);

/** The budgets, or quotas, of a namespace, in the order they were made. */
export const guardsQueue = (kind: GuardKind, namespace: string): string => `${kind}s,${namespace}`;

/** Who holds a budget or quota, longest first. */
export const holdersQueue = ({ kind, namespace, id }: GuardName): string =>
	`holders,${kind},${guardSubject(namespace, id)}`;

/** Who spent of a budget in a period, latest report first. */
export const ledgerQueue = (namespace: string, id: string, period: number): string =>
	`ledger,${guardSubject(namespace, id)},${period}`;

export const usageKeysQueue = (namespace: string, id: string): string => `usagekeys,${guardSubject(namespace, id)}`;

/** The recorded steps of an execution since it was submitted or last replayed without them, in the order they were made. */
export const stepsQueue = (executionId: string, generation: number): string =>
	`${PARTS}steps,${executionId},${generation}`;

/** How the names of lists of lanes begin. */
export const LANES = "lanes,";

/** Lanes of a namespace that differ from one nobody has touched. */
export const lanesQueue = (namespace: string): string => LANES + namespace;

/*
 * Where records are queued, by type: pure functions of the record, so an index can always be rebuilt and checked.
 */

/** A record that is only kept until a time. */
export const untilDue = (at: number): Placement[] => [{ queue: DUE_QUEUE, score: at }];

/** The members of a flow, the last first. */
export const flowQueue = (flowId: string): string => `${PARTS}flow,${flowId}`;

/** The children of an execution, newest first. */
export const childrenQueue = (parentId: string): string => `${PARTS}children,${parentId}`;

/** The flows of a namespace, newest first. */
export const flowsQueue = (namespace: string): string => FLOWS + namespace;

/** How the names of these queues begin. */
export const FLOWS = "flows,";

export const namespaceOfFlows = (queue: string): string => queue.slice(FLOWS.length);

export function flowPlacement(flow: FlowRecord): Placement[] {
	const [timer] = flowTimersOf(flow);
	const places: Placement[] = timer ? untilDue(timer.at) : [];
	if (!flow.removing && flow.buildUntil === 0)
		places.push({ queue: flowsQueue(flow.namespace), score: -flow.createdAt });
	return places;
}

export function executionPlacement(record: ExecutionRecord): Placement[] {
	const places: Placement[] = [];
	const [timer] = timersOf(record);
	if (timer) places.push({ queue: DUE_QUEUE, score: timer.at });
	if (record.removing) return places;
	if (record.member) places.push({ queue: flowQueue(record.flowId), score: -record.member.number });
	if (record.member?.isHidden) return places;
	if (record.child) places.push({ queue: childrenQueue(record.child.parentId), score: -record.createdAt });
	places.push({
		queue: listQueue(record.namespace, record.lane, publicState(record)),
		score: -record.createdAt,
	});
	if (isClaimable(record)) {
		const queue = record.fairnessKey === "" ? queueOf(record) : fairQueue(record);
		places.push({ queue, score: queueScore(record) });
		return places;
	}
	const { suspension } = record;
	if (suspension)
		places.push({ queue: suspendedQueue(record.namespace, record.blockingReason), score: suspension.since });
	const paused = pausingBudget(record);
	if (paused !== undefined)
		places.push({ queue: waitersQueue("budget", record.namespace, paused), score: turnScore(record) });
	const cause = blockingCauseOf(record);
	if (cause === "route") places.push({ queue: routeQueue(record), score: queueScore(record) });
	else if (cause)
		places.push({ queue: waitersQueue(cause, record.namespace, record.blockedOn), score: turnScore(record) });
	return places;
}

/** As everywhere, but for keys that take turns: those stand where their turn is. */
export const turnScore = (record: ExecutionRecord): number =>
	record.turn > 0 ? record.turn - record.priority * record.agingMs : queueScore(record);

export function budgetPlacement(record: BudgetRecord): Placement[] {
	const places = guardPlacement(record, "budget");
	const due = earliest([
		record.releaseAt,
		record.nextResetAt,
		record.breach?.tellAt ?? 0,
		record.removeAt,
		// What is left of earlier periods goes step by step.
		record.ledgerFrom < record.period ? 1 : 0,
	]);
	if (due > 0) places.push({ queue: DUE_QUEUE, score: due });
	return places;
}

export function quotaPlacement(record: GuardRecord): Placement[] {
	const places = guardPlacement(record, "quota");
	const due = earliest([record.releaseAt, record.removeAt]);
	if (due > 0) places.push({ queue: DUE_QUEUE, score: due });
	return places;
}

const guardPlacement = ({ namespace, createdAt, removeAt }: GuardRecord, kind: GuardKind): Placement[] =>
	removeAt > 0 ? [] : [{ queue: guardsQueue(kind, namespace), score: createdAt }];

/** The first of some times, of which 0 is none. */
export const earliest = (times: readonly number[]): number =>
	times.reduce((first, at) => (at > 0 && (first === 0 || at < first) ? at : first), 0);

/** How long it is known that a hold was given back before it was taken. */
const GIVEN_BACK_MS = 60_000;

export const holdForgottenAt = ({ givenBackAt }: HoldRecord): number => givenBackAt + GIVEN_BACK_MS;

export function holdPlacement(record: HoldRecord, key: string): Placement[] {
	if (record.givenBackAt > 0) return untilDue(holdForgottenAt(record));
	return [{ queue: holdersQueue(holdSubject(key).guard), score: record.since }];
}

export function ledgerPlacement(record: LedgerEntryRecord, key: string): Placement[] {
	const { namespace, id } = guardPartSubject(key.slice(LEDGER_PREFIX.length));
	return [{ queue: ledgerQueue(namespace, id, record.period), score: -record.reportedAt }];
}

/** Kept for so long, and found when its budget goes. */
export function usageKeyPlacement(record: UsageKeyRecord, key: string): Placement[] {
	const { namespace, id } = guardPartSubject(key.slice(key.indexOf(":") + 1));
	return [
		{ queue: DUE_QUEUE, score: record.expiresAt },
		{ queue: usageKeysQueue(namespace, id), score: record.expiresAt },
	];
}

export function stepPlacement({ number }: StepRecord, key: string): Placement[] {
	const { executionId, generation } = stepSubject(key);
	return [{ queue: stepsQueue(executionId, generation), score: number }];
}

/** The waitpoints of an execution, in the order they were made. */
export const waitpointsQueue = (executionId: string): string => `${PARTS}waitpoints,${executionId}`;

/** Waitpoints of a namespace at which something waits, longest first. */
export const inboxQueue = (namespace: string): string => `${PARTS}inbox,${namespace}`;

/** Signals that were kept for whatever will wait at a waitpoint. */
export const bufferedQueue = (waitpointId: string): string => `${PARTS}buffered,${waitpointId}`;

/** Signals that a suspension of an execution has counted. */
export const countedQueue = (executionId: string, suspension: number): string =>
	`${PARTS}counted,${executionId},${suspension}`;

export function waitpointPlacement(record: WaitpointRecord): Placement[] {
	const places: Placement[] = [{ queue: waitpointsQueue(record.executionId), score: record.number }];
	if (record.closedAt > 0) return places;
	if (record.suspension > 0) places.push({ queue: inboxQueue(record.namespace), score: record.activatedAt });
	else if (record.expiresAt > 0) places.push({ queue: DUE_QUEUE, score: record.expiresAt });
	return places;
}

export function signalPlacement({ suspension, leaves, waitpointId }: SignalRecord, key: string): Placement[] {
	const { executionId, number } = signalSubject(key);
	if (suspension === 0) return waitpointId === "" ? [] : [{ queue: bufferedQueue(waitpointId), score: number }];
	return leaves.length > 0 ? [{ queue: countedQueue(executionId, suspension), score: number }] : [];
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

/** Due when the first of its keys is to go. */
export function keyringPlacement(ring: KeyringRecord): Placement[] {
	const due = earliest(ring.keys.map((key) => removalOf(ring, key)));
	return due > 0 ? untilDue(due) : [];
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
	record.hold === null &&
	!record.removing;

/** Ascending: each step of priority is worth `agingMs` of waiting. */
export const queueScore = (record: ExecutionRecord): number => record.createdAt - record.priority * record.agingMs;

/** Like the work it stands for, with the time of its turn for its age. */
export const ticketScore = (record: TicketRecord): number => record.turnAt - record.priority * record.agingMs;
