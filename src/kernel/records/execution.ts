import { type Payload, payloadShape } from "../payload.ts";
import { type Policy, policyShape } from "../policy.ts";
import { list, number, object, part, type Shapes, table, text } from "../shape.ts";
import type {
	AttemptState,
	BlockingReason,
	EligibilityState,
	LifecyclePhase,
	OwnershipState,
	TerminalOutcome,
} from "../state.ts";
import type { Tags } from "../tags.ts";
import type { Amounts, OnHard } from "./budget.ts";
import { assign, type Key } from "./record.ts";

export type AttemptType = "initial" | "retry" | "reclaim" | "replay";

export type AttemptEnd = "ended_success" | "ended_failure" | "ended_cancelled" | "interrupted_reclaimed";

export interface Failure {
	reason: string;
	category: string;
	/** The epoch of the lease that told more than fits here: name, stack and causes, kept as bytes of their own. */
	detailEpoch?: number;
}

/** One run of the handler. The current one lives inside its execution; ended ones are records of their own. */
export interface Attempt {
	index: number;
	type: AttemptType;
	state: "started" | "suspended" | AttemptEnd;
	workerId: string;
	instanceId: string;
	startedAt: number;
	endedAt?: number;
	/** Time spent under leases that are over; `attemptMs` counts this and the live lease, nothing else. */
	usedMs?: number;
	/** How often in a row its holders handed it back; see `releases.ts`. */
	releases?: number;
	/** Somebody took its lease away. */
	isRevoked?: true;
	failure?: Failure;
	result?: Payload;
	unknown?: LaterFields;
}

/** Fields of a later version, kept as they came. */
export type LaterFields = Readonly<Record<string, unknown>>;

/** Reserved for one worker, which has yet to accept it. */
export interface Grant {
	id: string;
	expiresAt: number;
	workerId: string;
	instanceId: string;
}

/** What budgets and quotas are asked for, and then give, so that an execution may run. */
export interface Hold {
	/** The id of the lease to be. */
	id: string;
	/** Until when it is being admitted; 0 once it is. */
	until: number;
	/** When the last of them admitted it. */
	admittedAt: number;
	/** Quotas whose slots it keeps when it is suspended. */
	keeps?: readonly string[];
	/** A budget refused a report before there was a lease: whoever gets it is told then. */
	breach?: BudgetBreach;
}

/** A budget that a lease was admitted under refused a report. */
export interface BudgetBreach {
	budget: string;
	dimension: string;
	action: OnHard;
}

export interface Lease {
	id: string;
	epoch: number;
	ttlMs: number;
	acquiredAt: number;
	expiresAt: number;
	workerId: string;
	instanceId: string;
	renewals?: number;
	/** Told with the next renewal. */
	breach?: BudgetBreach;
	unknown?: LaterFields;
}

/** How the last lease ended, kept so that its holder's repeated call gets its first answer. */
export interface LeaseEnd {
	id: string;
	epoch: number;
	by: "expired" | "revoked" | LeaseEndingOp | "timeout" | "deadline";
	outcome?: Record<string, unknown>;
	/** Set when a budget ended it. */
	breach?: BudgetBreach;
	unknown?: LaterFields;
}

export type LeaseEndingOp = "complete" | "fail" | "delay" | "release" | "cancel" | "suspend" | "waitChildren";

export type CancelSource = "operator" | "holder" | "flow" | "budget" | "timeout";

export interface Cancel {
	source: CancelSource;
	requestedAt: number;
	reason?: string;
	/** Set while a graceful cancel waits for the holder. */
	deadlineAt?: number;
	/** A group of its flow was satisfied without it: to be cancelled so is no failure. */
	isSpared?: true;
}

/** What a member of a flow waits for. */
export interface Group {
	policy: "all_of" | "any_of" | "quorum";
	/** How many edges a quorum wants. */
	quorum?: number;
	/** Once satisfied, whatever else it would have waited for is cancelled. */
	cancelsRemaining?: true;
	edges: number;
	satisfied: number;
	impossible: number;
}

/** An execution's place in its flow. */
export interface Member {
	/** The key of its node. */
	key: string;
	/** Its place among the members, from 1. */
	number: number;
	group: Group;
	/** It has edges; see `LinksRecord`. */
	hasLinks?: true;
	/** Some edge that leads to it passes a result. */
	hasParents?: true;
	/** Bytes of the results and failures that have been passed to it, up to as many as a claim carries. */
	passedBytes?: number;
	/** Its own delay, which begins when its group is satisfied. */
	delayMs?: number;
	/** It ended badly, but somebody downstream wanted to know: the flow has not failed for that. */
	isHeeded?: true;
	/** Its flow is not whole yet: nobody is to see it. */
	isHidden?: true;
}

/** An execution's place among the children of another. */
export interface Child {
	parentId: string;
	key: string;
	/** Its place among them, from 1. */
	number: number;
	/** The generation of its parent that it belongs to; left out for the first. */
	generation?: number;
	/** It goes on when its parent ends. */
	isLeft?: true;
}

/** What a suspended execution waits for, as far as its state, its timers and its readers need it; see `SuspensionRecord`. */
export interface Suspension {
	/** Which of its suspensions it is: 1, 2, 3 … */
	number: number;
	id: string;
	since: number;
	timeoutAt?: number;
	timeoutBehavior?: TimeoutBehavior;
	/** Its timeout has come, and an operator is to decide. */
	isEscalated?: true;
	/** Signals that came early are still being gone through. */
	isReplaying?: true;
	/** The budget that paused it. */
	budget?: string;
}

export const TIMEOUT_BEHAVIORS = ["fail", "cancel", "expire", "resume", "escalate"] as const;
export type TimeoutBehavior = (typeof TIMEOUT_BEHAVIORS)[number];

/** A slot that a quota let an execution keep when it was suspended, under the id it was taken with. */
export interface KeptSlot {
	quota: string;
	holdId: string;
}

/** What an execution has in records of its own. */
export interface Parts {
	/** Raised by a replay that keeps nothing: whatever belongs to an earlier one counts no more. */
	generation: number;
	suspensions: number;
	waitpoints: number;
	/** Signals there are, of all generations, and how many there were when this one began. */
	signals: number;
	signalsBefore: number;
	/** Attempts up to this one may have a stream. */
	streams: number;
	/** The numbers of the signals its last suspension ended by, while these are few; left out when they are to be looked up. */
	handed?: readonly number[];
	/** Bytes of these signals, about; see `carriedBytes`. */
	handedBytes?: number;
	/** Recorded steps of this generation, and their bytes. */
	steps: number;
	stepBytes: number;
	/** Generations before this one may have children; left out when none has. */
	families?: number;
	/** What it waited for of its children is there: they are handed to whoever goes on, until it waits once more. */
	joined?: true;
	/** What of them is handed over, in bytes, about. */
	joinedBytes?: number;
}

export interface Progress {
	percent?: number;
	message?: string;
}

export interface ExecutionRecord {
	id: string;
	kind: string;
	namespace: string;
	lane: string;
	priority: number;
	/** The lane's agingMs when this execution was created; see `queueScore`. */
	agingMs: number;
	/** What a worker must offer to be given it; sorted, each once. */
	requiredCapabilities: readonly string[];
	/** Keys of one priority take turns; empty for work that waits by itself. */
	fairnessKey: string;
	/** Budgets and quotas that must admit it, each sorted, each once. */
	budgets: readonly string[];
	quotas: readonly string[];
	/** What it wants reserved, by budget; null for nothing. */
	reserve: Readonly<Record<string, Amounts>> | null;
	/** The flow it is a member of, and its place there; empty and null for work of its own. */
	flowId: string;
	member: Member | null;
	/** Whose child it is; null for what was submitted from outside. */
	child: Child | null;
	tags: Tags;
	policy: Policy;
	input: Payload | null;
	idempotencyKey: string;
	traceparent: string;
	createdBy: string;
	createdAt: number;
	/** How long to keep it once ended; 0 keeps it until it is deleted. */
	retentionMs: number;

	lifecyclePhase: LifecyclePhase;
	ownershipState: OwnershipState;
	eligibilityState: EligibilityState;
	blockingReason: BlockingReason;
	terminalOutcome: TerminalOutcome;
	attemptState: AttemptState;
	blockingDetail: string;
	blockedAt: number;

	/** When a delay, backoff or resume delay ends; 0 when there is none. */
	delayUntil: number;
	/**
	 * When it last became eligible, which the queue timeout counts from; 0 while that is its creation. To be blocked and
	 * released again is no new beginning.
	 */
	eligibleAt: number;
	/** The last replay, which the deadline counts from; 0 while that is its creation. */
	deadlineFrom: number;

	/** The budget or quota it waits for, or that released it and has room for it until it runs; empty for neither. */
	blockedOn: string;
	/** Its place among those that wait for one, where keys take turns; kept until it runs. */
	turn: number;

	attempt: Attempt | null;
	hold: Hold | null;
	grant: Grant | null;
	lease: Lease | null;
	lastLease: LeaseEnd | null;
	/** Epoch of the newest lease; only grows. */
	epoch: number;

	/** What it waits for; null when it is not suspended. */
	suspension: Suspension | null;
	/** Slots kept over a suspension, until a lease that follows ends in another way; null for none. */
	kept: readonly KeptSlot[] | null;
	/** Null for work that has nothing but itself. */
	parts: Parts | null;

	retries: number;
	reclaims: number;
	replays: number;
	progress: Progress | null;
	failure: Failure | null;
	cancel: Cancel | null;
	startedAt: number;
	completedAt: number;

	/** Number of events so far; the next one is `events + 1`. */
	events: number;
	/** Removal goes on in bounded steps; set from the first step until the record itself goes. */
	removing: boolean;
	unknown: LaterFields | null;
}

export const executionDefaults: ExecutionRecord = {
	id: "",
	kind: "",
	namespace: "default",
	lane: "default",
	priority: 0,
	agingMs: 1e12,
	requiredCapabilities: Object.freeze([]) as readonly string[],
	fairnessKey: "",
	budgets: Object.freeze([]) as readonly string[],
	quotas: Object.freeze([]) as readonly string[],
	reserve: null,
	flowId: "",
	member: null,
	child: null,
	tags: Object.freeze({}) as Tags,
	policy: Object.freeze({}) as Policy,
	input: null,
	idempotencyKey: "",
	traceparent: "",
	createdBy: "",
	createdAt: 0,
	retentionMs: 86_400_000,

	lifecyclePhase: "runnable",
	ownershipState: "unowned",
	eligibilityState: "eligible_now",
	blockingReason: "waiting_for_worker",
	terminalOutcome: "none",
	attemptState: "pending_first_attempt",
	blockingDetail: "",
	blockedAt: 0,

	delayUntil: 0,
	eligibleAt: 0,
	deadlineFrom: 0,
	blockedOn: "",
	turn: 0,

	attempt: null,
	hold: null,
	grant: null,
	lease: null,
	lastLease: null,
	epoch: 0,

	suspension: null,
	kept: null,
	parts: null,

	retries: 0,
	reclaims: 0,
	replays: 0,
	progress: null,
	failure: null,
	cancel: null,
	startedAt: 0,
	completedAt: 0,

	events: 0,
	removing: false,
	unknown: null,
};

export const failureShape = part({ reason: text, category: text }, { detailEpoch: number });

const breachShape = part({ budget: text, dimension: text, action: text });

export const attemptShape = part(
	{ index: number, type: text, state: text, workerId: text, instanceId: text, startedAt: number },
	{ endedAt: number, usedMs: number, releases: number, failure: failureShape, result: payloadShape },
);

const leaseShape = part(
	{
		id: text,
		epoch: number,
		ttlMs: number,
		acquiredAt: number,
		expiresAt: number,
		workerId: text,
		instanceId: text,
	},
	{ renewals: number, breach: breachShape },
);

const groupShape = part({ policy: text, edges: number, satisfied: number, impossible: number }, { quorum: number });

export const executionShapes: Shapes<ExecutionRecord> = {
	requiredCapabilities: list(text),
	budgets: list(text),
	quotas: list(text),
	reserve: table(table(number)),
	member: part({ key: text, number, group: groupShape }, { passedBytes: number, delayMs: number }),
	child: part({ parentId: text, key: text, number }, { generation: number }),
	tags: table(text),
	policy: policyShape,
	input: payloadShape,
	attempt: attemptShape,
	hold: part({ id: text, until: number, admittedAt: number }, { keeps: list(text), breach: breachShape }),
	grant: part({ id: text, expiresAt: number, workerId: text, instanceId: text }),
	lease: leaseShape,
	lastLease: part({ id: text, epoch: number, by: text }, { outcome: object, breach: breachShape }),
	suspension: part({ number, id: text, since: number }, { timeoutAt: number, timeoutBehavior: text, budget: text }),
	kept: list(part({ quota: text, holdId: text })),
	parts: part(
		{
			generation: number,
			suspensions: number,
			waitpoints: number,
			signals: number,
			signalsBefore: number,
			streams: number,
			steps: number,
			stepBytes: number,
		},
		{ handed: list(number), families: number },
	),
	progress: part({}, { percent: number, message: text }),
	failure: failureShape,
	cancel: part({ source: text, requestedAt: number }, { reason: text, deadlineAt: number }),
};

export const noParts: Parts = Object.freeze({
	generation: 0,
	suspensions: 0,
	waitpoints: 0,
	signals: 0,
	signalsBefore: 0,
	streams: 0,
	steps: 0,
	stepBytes: 0,
});

/** What it has in records of its own, also when that is nothing. */
export const partsOf = ({ parts }: ExecutionRecord): Parts => parts ?? noParts;

export const executionKey = (id: string): Key<ExecutionRecord> => id;

/** When it last became eligible. */
export const eligibleSince = (record: ExecutionRecord): number => record.eligibleAt || record.createdAt;

/**
 * A copy, field by field. With a spread the runtime gives every copy, and every copy of a copy, a layout of its own; before
 * long it knows none of them, and copies ten times slower. So all executions have one layout.
 */
const copyOf = (record: ExecutionRecord): ExecutionRecord => ({
	id: record.id,
	kind: record.kind,
	namespace: record.namespace,
	lane: record.lane,
	priority: record.priority,
	agingMs: record.agingMs,
	requiredCapabilities: record.requiredCapabilities,
	fairnessKey: record.fairnessKey,
	budgets: record.budgets,
	quotas: record.quotas,
	reserve: record.reserve,
	flowId: record.flowId,
	member: record.member,
	child: record.child,
	tags: record.tags,
	policy: record.policy,
	input: record.input,
	idempotencyKey: record.idempotencyKey,
	traceparent: record.traceparent,
	createdBy: record.createdBy,
	createdAt: record.createdAt,
	retentionMs: record.retentionMs,
	lifecyclePhase: record.lifecyclePhase,
	ownershipState: record.ownershipState,
	eligibilityState: record.eligibilityState,
	blockingReason: record.blockingReason,
	terminalOutcome: record.terminalOutcome,
	attemptState: record.attemptState,
	blockingDetail: record.blockingDetail,
	blockedAt: record.blockedAt,
	delayUntil: record.delayUntil,
	eligibleAt: record.eligibleAt,
	deadlineFrom: record.deadlineFrom,
	blockedOn: record.blockedOn,
	turn: record.turn,
	attempt: record.attempt,
	hold: record.hold,
	grant: record.grant,
	lease: record.lease,
	lastLease: record.lastLease,
	epoch: record.epoch,
	suspension: record.suspension,
	kept: record.kept,
	parts: record.parts,
	retries: record.retries,
	reclaims: record.reclaims,
	replays: record.replays,
	progress: record.progress,
	failure: record.failure,
	cancel: record.cancel,
	startedAt: record.startedAt,
	completedAt: record.completedAt,
	events: record.events,
	removing: record.removing,
	unknown: record.unknown,
});

export const makeExecution = (fields: Partial<ExecutionRecord>): ExecutionRecord =>
	assign(copyOf(executionDefaults), fields);

/** `amend`, for an execution. */
export const amendExecution = (record: ExecutionRecord, changes: Partial<ExecutionRecord>): ExecutionRecord =>
	assign(copyOf(record), changes);
