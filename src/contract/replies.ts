import type { ErrorCode } from "../kernel/errors.ts";
import type { ExecutionEvent } from "../kernel/events.ts";
import type { Policy } from "../kernel/policy.ts";
import type { Attempt, AttemptType, Cancel, Failure, Progress } from "../kernel/records/execution.ts";
import type { PublicState, StateFields } from "../kernel/state.ts";

/** What FlowFabric answers, in process and over HTTP alike. */

export interface Created {
	id: string;
	publicState: PublicState;
	/** False when an idempotency key led to an earlier execution. */
	created: boolean;
}

export interface ErrorBody {
	code: ErrorCode;
	message: string;
	retryable: boolean;
	details?: Record<string, unknown>;
}

export interface CreatedItem {
	ok: boolean;
	id?: string;
	publicState?: PublicState;
	created?: boolean;
	error?: ErrorBody;
}

export interface Execution {
	id: string;
	kind: string;
	namespace: string;
	lane: string;
	priority: number;
	publicState: PublicState;
	state: StateFields;
	/** Why it is not running, for a person; empty when it is, or has ended. */
	blockingDetail: string;
	blockedAt?: number;
	delayUntil?: number;
	attempt?: { index: number; type: AttemptType; state: Attempt["state"] };
	lease?: { id: string; epoch: number; expiresAt: number; workerId: string; instanceId: string };
	retries: number;
	reclaims: number;
	replays: number;
	flowId?: string;
	tags: Record<string, string>;
	policy: Policy;
	requiredCapabilities: string[];
	progress?: Progress;
	failure?: Failure;
	cancel?: Cancel;
	createdBy: string;
	createdAt: number;
	startedAt?: number;
	completedAt?: number;
}

/** Why an execution does not run, worked out when it was asked. */
export interface Explanation {
	id: string;
	publicState: PublicState;
	state: StateFields;
	/** The first reason. */
	summary: string;
	/** What keeps it from running, the foremost first, each naming the holder. */
	reasons: string[];
	lane: { name: string; state: LaneStatus["state"] };
	/** Only while it waits to be claimed. */
	position?: {
		/** How many would be handed out before it to somebody who can serve everything. */
		ahead: number;
		/** False when counting stopped. */
		exact: boolean;
		/** Those of its own fairness key among them. */
		aheadInKey?: number;
	};
	/** Workers of its namespace, and those that offer what it requires, take its kind and its lane. */
	workers?: { live: number; able: number };
	missingCapabilities?: string[];
	examinedAt: number;
}

export interface ExecutionPage {
	executions: Execution[];
	nextCursor?: string;
}

export interface BulkReply {
	/** How many it was done to, or had been already. */
	done: number;
	failed: number;
	/** The first of those that failed, and why. */
	errors: { id: string; error: ErrorBody }[];
	/** Left out when all that matched was seen. */
	nextCursor?: string;
}

export interface EventPage {
	events: ExecutionEvent[];
	/** Always there: reading on from it gives what happened since. */
	nextCursor: string;
}

/** An event and where reading goes on behind it. */
export interface FollowedEvent {
	cursor: string;
	event: ExecutionEvent;
}

export interface AttemptView {
	index: number;
	type: AttemptType;
	state: Attempt["state"];
	workerId: string;
	instanceId: string;
	startedAt: number;
	endedAt?: number;
	failure?: Failure;
	result?: { contentType: string; size: number };
}

export interface ClaimedExecution {
	id: string;
	kind: string;
	namespace: string;
	lane: string;
	input?: unknown;
	inputBase64?: string;
	contentType: string;
	attempt: { index: number; type: AttemptType };
	lease: { id: string; epoch: number; expiresAt: number };
	timeouts?: NonNullable<Policy["timeouts"]>;
	tags: Record<string, string>;
	flowId?: string;
	traceparent?: string;
}

/** Work reserved for one worker, until it accepts it or the grant lapses. */
export interface GrantView {
	grantId: string;
	executionId: string;
	expiresAt: number;
}

export interface RenewedLease {
	executionId: string;
	ok: boolean;
	expiresAt?: number;
	cancelRequested?: true;
	reason?: string;
	error?: ErrorBody;
}

export interface CompletedItem {
	executionId: string;
	ok: boolean;
	publicState?: PublicState;
	error?: ErrorBody;
}

export interface Bytes {
	bytes: Uint8Array;
	contentType: string;
}

/** Something a worker should know at once about work it holds. */
export interface WorkerNotice {
	type: "cancel_requested" | "lease_lost";
	executionId: string;
	leaseId: string;
	epoch: number;
	reason: string;
}

export interface WorkerView {
	instanceId: string;
	workerId: string;
	namespace: string;
	capabilities: string[];
	/** Left out for a worker that takes any kind. */
	kinds?: string[];
	lanes: string[];
	registeredAt: number;
	lastSeenAt: number;
	expiresAt: number;
}

export interface WorkerPage {
	workers: WorkerView[];
	/** Left out on the last page. */
	nextCursor?: string;
}

export interface LaneStatus {
	lane: string;
	namespace: string;
	state: "active" | "paused" | "draining";
	agingMs: number;
}

export interface LaneView {
	lane: string;
	state: LaneStatus["state"];
	agingMs: number;
	/** How many executions are in which state; states nothing is in are left out. */
	depth: Partial<Record<PublicState, number>>;
	/** Age, from its creation, of the oldest execution that waits; left out when none does. */
	oldestWaitingMs?: number;
	/** Executions that ended in the last 60 seconds through this engine. */
	perMinute: number;
}

export interface LanePage {
	lanes: LaneView[];
	/** Left out on the last page. */
	nextCursor?: string;
}

export interface ScannersReply {
	scanners: ScannerView[];
	/** What they are restricted to; left out when they are not. */
	restrictedTo?: { namespaces?: string[]; tags?: string[] };
}

export interface ScannerView {
	name: string;
	/** Passes in which it had something to do, and how many things. */
	runs: number;
	items: number;
	errors: number;
	/** Items put aside just now because they kept failing. */
	parked: number;
	lastRunAt?: number;
	lastDurationMs?: number;
	/** How long after its time the last item was handled. */
	lagMs?: number;
}
