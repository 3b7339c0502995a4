import type { PublicState } from "../kernel/state.ts";
import type {
	CreateBudgetRequest,
	LedgerRequest,
	PatchBudgetRequest,
	ReleaseSpendRequest,
	ResetBudgetRequest,
	UsageRequest,
	WorkerUsageRequest,
} from "./budgets.ts";
import type { BulkRequest } from "./bulk.ts";
import type { AddChildrenRequest, WaitChildrenRequest } from "./children.ts";
import type { FlowFabricError } from "./errors.ts";
import type {
	AttemptsRequest,
	CancelRequest,
	ChangePriorityRequest,
	CreateRequest,
	EventsRequest,
	ListRequest,
	ReplayRequest,
	RevokeLeaseRequest,
} from "./executions.ts";
import type { FeedRequest } from "./feed.ts";
import type {
	CancelFlowRequest,
	CreateFlowRequest,
	EdgeRequest,
	FlowsPageRequest,
	GroupRequest,
	NodeRequest,
} from "./flows.ts";
import type { GuardRequest, GuardsPageRequest } from "./guards.ts";
import type { BackupRequest, RotateSecretRequest } from "./keys.ts";
import type { LaneSettings, LanesPageRequest, LanesRequest } from "./lanes.ts";
import type { CreateQuotaRequest, PatchQuotaRequest } from "./quotas.ts";
import type {
	AddedChild,
	AddedEdge,
	AddedMember,
	AppendedFrames,
	AttemptPage,
	AttemptView,
	BudgetPage,
	BudgetReset,
	BudgetView,
	BulkReply,
	Bytes,
	CancelledFlow,
	ClaimedExecution,
	CompletedItem,
	Created,
	CreatedBudget,
	CreatedFlow,
	CreatedItem,
	CreatedQuota,
	EventPage,
	Execution,
	ExecutionEventPage,
	ExecutionPage,
	Explanation,
	FlowPage,
	FlowRevision,
	FlowSummary,
	FlowView,
	FollowedEvent,
	FramePage,
	GrantView,
	InboxPage,
	LanePage,
	LaneStatus,
	LedgerPage,
	OpenedWaitpoint,
	ProgressNotice,
	QuotaPage,
	QuotaView,
	RecordedStep,
	ReleasedSpend,
	RenewedLease,
	ResumeReply,
	RotatedSecret,
	ScannersReply,
	SignalPage,
	SignalReply,
	StepPage,
	SummaryView,
	SuspendReply,
	TailedPage,
	UsageReply,
	WaitpointPage,
	WaitpointToken,
	WorkerNotice,
	WorkerPage,
	WorkerView,
} from "./replies.ts";
import type { RecordStepRequest, StepsRequest } from "./steps.ts";
import type { AppendFramesRequest, ReadFramesRequest, TailFramesRequest } from "./streams.ts";
import type { SetTagsRequest } from "./tags.ts";
import type {
	ApproveRequest,
	CallbackRequest,
	CreateWaitpointRequest,
	InboxRequest,
	ResumeRequest,
	SignalRequest,
	SignalsRequest,
	SuspendRequest,
	WaitpointsRequest,
} from "./waitpoints.ts";
import type {
	AcceptGrantRequest,
	ClaimRequest,
	CompleteRequest,
	DelayRequest,
	FailRequest,
	GrantRequest,
	ProgressRequest,
	ReleaseRequest,
	RenewRequest,
} from "./worker-protocol.ts";
import type { RegisterWorkerRequest, WorkersPageRequest, WorkersRequest } from "./workers.ts";

/** Where to begin, when to stop, and whom to tell how far it is. */
export interface FollowOptions {
	/** Begin behind this event (the first). */
	cursor?: string;
	/** Stops following (none). */
	signal?: AbortSignal;
	/** Told how far it is whenever that changes, a few times a second at most; what was told before is never told again (none). */
	onProgress?(progress: ProgressNotice): void;
}

/** What can be asked about executions. */
export interface ExecutionCalls {
	/** Submits one execution; the same again under its idempotency key is `created: false`. */
	create(request: CreateRequest): Promise<Created>;
	/** Submits up to 1000 at once, each answered by itself. */
	createMany(items: CreateRequest[]): Promise<CreatedItem[]>;
	/** The execution as it is now. */
	get(id: string): Promise<Execution>;
	/** Why it does not run, worked out now. */
	explain(id: string): Promise<Explanation>;
	/** Executions that match, newest first, a page at a time. */
	list(request?: ListRequest): Promise<ExecutionPage>;
	/** What it was submitted with; undefined when that was nothing. */
	input(id: string): Promise<Bytes | undefined>;
	/** What its handler returned; refused with `result_not_found` when there is nothing. */
	result(id: string): Promise<Bytes>;
	/** The execution once it has ended, or its current state when the timeout passes. */
	wait(
		id: string,
		options?: {
			/** Milliseconds to wait (no limit). */
			timeoutMs?: number;
			/** Ends the wait with its reason (none). */
			signal?: AbortSignal;
		},
	): Promise<Execution>;
	/** What happened since; with `waitMs`, as soon as something has. */
	events(id: string, request?: EventsRequest, signal?: AbortSignal): Promise<ExecutionEventPage>;
	/** Every event as it comes, until the execution has ended; goes on behind `cursor`, or starts with the first. */
	follow(id: string, options?: FollowOptions): AsyncIterable<FollowedEvent>;
	/** Every attempt with its worker, its times and how it ended. */
	attempts(id: string): Promise<AttemptView[]>;
	/** The same, a page at a time. */
	attemptPage(id: string, request?: AttemptsRequest): Promise<AttemptPage>;
	/** Its recorded steps in the order they were made, a page at a time. */
	steps(id: string, request?: StepsRequest): Promise<StepPage>;
	/** Cancels it: at once if it is not running, else its worker is asked to stop. */
	cancel(id: string, request?: CancelRequest): Promise<{ publicState: PublicState; cancelRequested?: true }>;
	/** Runs ended work again; from the start, unless what was recorded of it is kept. */
	replay(id: string, request?: ReplayRequest): Promise<{ publicState: PublicState; replays: number }>;
	/** Removes every trace of an execution that has ended. */
	delete(id: string): Promise<{ deleted: true }>;
	/** Lets it run earlier or later among what waits. */
	changePriority(id: string, request: ChangePriorityRequest): Promise<{ publicState: PublicState; priority: number }>;
	/** Sets and removes tags. */
	setTags(id: string, request: SetTagsRequest): Promise<{ tags: Record<string, string> }>;
	/** Does the same to everything a filter finds, at most 1000 per call; goes on from `nextCursor`. */
	bulk(request: BulkRequest): Promise<BulkReply>;
	/** Takes its lease away from whoever runs it; the work returns to its queue. */
	revokeLease(
		id: string,
		request?: RevokeLeaseRequest,
	): Promise<{ revoked: true; leaseId: string; epoch: number } | { revoked: false; reason: "no_active_lease" }>;
}

/** What whoever passes on a claim or a grant knows of it, and wants to know. */
export interface ClaimingHow {
	/** Told over HTTP, each time before it is sent again, that nobody answered. */
	onUnanswered?(error: FlowFabricError): void;
	/** Its request id was never sent before, which saves looking for what it took. */
	isFirst?: boolean;
	/** Told, when it is over, how many queues and partitions were asked for work, and how many of them did not answer. */
	onSearched?(figures: { probed: number; skipped: number }): void;
}

/** The worker protocol: claiming, and everything a holder does under its lease. */
export interface LeaseCalls {
	/** Leases work that this worker can serve, as much as there is up to `max`; waits for some up to `waitMs`. */
	claim(request: ClaimRequest, signal?: AbortSignal, how?: ClaimingHow): Promise<ClaimedExecution[]>;
	/** Reserves one execution without leasing it; null when there is none. */
	grant(request: GrantRequest, signal?: AbortSignal, how?: ClaimingHow): Promise<GrantView | null>;
	/** Turns a grant into a lease; said again by the same instance it gives the same lease. */
	acceptGrant(grantId: string, request: AcceptGrantRequest): Promise<ClaimedExecution>;
	/** Renews many leases, each answered by itself. */
	renew(request: RenewRequest): Promise<RenewedLease[]>;
	/** Ends an execution with its result. */
	complete(id: string, request: CompleteRequest): Promise<{ publicState: PublicState }>;
	/** Ends many executions with their results, each answered by itself. */
	completeMany(items: (CompleteRequest & { executionId: string })[]): Promise<CompletedItem[]>;
	/** Ends an attempt with a failure; the retry policy decides whether there is another. */
	fail(id: string, request: FailRequest): Promise<{ publicState: PublicState; retryAt?: number }>;
	/** Lets go of the lease; the same attempt goes on after the delay. */
	delay(id: string, request: DelayRequest): Promise<{ publicState: PublicState; delayUntil?: number }>;
	/** Hands the work back to its queue at once; the same attempt goes on. */
	release(id: string, request: ReleaseRequest): Promise<{ publicState: PublicState; delayUntil?: number }>;
	/** Tells how far the work is; what is not given stays as it was. */
	progress(id: string, request: ProgressRequest): Promise<{ percent?: number; message?: string }>;
	/**
	 * Keeps what a step of a handler came to. A result is final: recorded again, with whatever, it gives the first answer. A
	 * step recorded with `error` may be recorded anew.
	 */
	recordStep(id: string, request: RecordStepRequest): Promise<RecordedStep>;
	/**
	 * Reports what was spent of a budget. A breach is an answer, not an error. The fence is checked on receipt; what passed
	 * is counted even if the lease is lost meanwhile.
	 */
	usage(id: string, request: WorkerUsageRequest): Promise<UsageReply>;
	/** Lets go of the lease until the condition holds; if it does already, the lease stays and the signals are given. */
	suspend(id: string, request: SuspendRequest): Promise<SuspendReply>;
	/** Opens a waitpoint before anything waits at it; asked for again while it is open it is the same. */
	createWaitpoint(id: string, request: CreateWaitpointRequest): Promise<OpenedWaitpoint & { created: boolean }>;
	/** Submits children, each answered by itself. One whose key was given before is the same child, whatever else is said. */
	addChildren(id: string, request: AddChildrenRequest): Promise<AddedChild[]>;
	/** Lets go of the lease until children are done; what came of them is in the claim of whoever goes on. */
	waitChildren(id: string, request: WaitChildrenRequest): Promise<{ publicState: PublicState }>;
	/** Appends to the stream of the attempt; frames with a sequence number may be sent again. */
	appendFrames(id: string, request: AppendFramesRequest): Promise<AppendedFrames>;
	/**
	 * Calls back at once for work this instance holds; ends when the returned function is called. `onResumed` is called when
	 * notices come again after a break: renewing the leases then tells what was missed.
	 */
	notices(instanceId: string, listener: (notice: WorkerNotice) => void, onResumed?: () => void): () => void;
}

/** Who works in a namespace. */
export interface WorkerCalls {
	/** Registers an instance, or says that it is still there; without being heard again it is gone after its ttl. */
	register(instanceId: string, request: RegisterWorkerRequest, signal?: AbortSignal): Promise<WorkerView>;
	/** Takes an instance out of the registry. */
	remove(instanceId: string, request?: WorkersRequest, signal?: AbortSignal): Promise<{ removed: boolean }>;
	/** In the order they came; a page may hold fewer than asked for and still have a cursor. */
	list(request?: WorkersPageRequest): Promise<WorkerPage>;
}

/** Queues, and what is in them. */
export interface LaneCalls {
	/** By name, the lanes of a namespace in which there is something, or that differ from one nobody has touched. */
	list(request?: LanesPageRequest): Promise<LanePage>;
	/** Resolves when no partition hands out work of the lane any more; submitting goes on. */
	pause(lane: string, request?: LanesRequest): Promise<LaneStatus>;
	/** Opens a lane that was paused or draining. */
	resume(lane: string, request?: LanesRequest): Promise<LaneStatus>;
	/** Resolves when every submit is refused with `lane_draining`; what is queued is still handed out. */
	drain(lane: string, request?: LanesRequest): Promise<LaneStatus>;
	/** Settings of a lane, which is made by this if need be. */
	update(lane: string, settings: LaneSettings, request?: LanesRequest): Promise<LaneStatus>;
}

/** Limits on spending, and who spent what. */
export interface BudgetCalls {
	/** The same definition again is `created: false`; another is refused with `already_exists`. */
	create(request: CreateBudgetRequest): Promise<CreatedBudget>;
	/** A budget as it is now. */
	get(id: string, request?: GuardRequest): Promise<BudgetView>;
	/** In the order they were made; a page may hold fewer than asked for and still have a cursor. */
	list(request?: GuardsPageRequest): Promise<BudgetPage>;
	/** Changes what is given, at once; a dimension or a limit of null is removed. */
	patch(id: string, changes: PatchBudgetRequest, request?: GuardRequest): Promise<BudgetView>;
	/** What waited for it is released. */
	delete(id: string, request?: GuardRequest): Promise<{ deleted: true }>;
	/** Reports what was spent, without a fence. */
	usage(id: string, report: UsageRequest, request?: GuardRequest): Promise<UsageReply>;
	/** Begins a new period now. */
	reset(id: string, reset?: ResetBudgetRequest, request?: GuardRequest): Promise<BudgetReset>;
	/** Takes back what an execution spent in this period; once, however often it is said. */
	release(id: string, release: ReleaseSpendRequest, request?: GuardRequest): Promise<ReleasedSpend>;
	/** Who spent what in this period, latest report first. */
	ledger(id: string, request?: LedgerRequest): Promise<LedgerPage>;
}

/** Limits on rate and concurrency. */
export interface QuotaCalls {
	/** The same definition again is `created: false`; another is refused with `already_exists`. */
	create(request: CreateQuotaRequest): Promise<CreatedQuota>;
	/** A quota as it is now, and who holds its slots. */
	get(id: string, request?: GuardRequest): Promise<QuotaView>;
	/** In the order they were made, without their holders. */
	list(request?: GuardsPageRequest): Promise<QuotaPage>;
	/** Changes what is given, at once; `rate` or `concurrency` of null is removed, but one of them must stay. */
	patch(id: string, changes: PatchQuotaRequest, request?: GuardRequest): Promise<QuotaView>;
	/** What waited for it is released. */
	delete(id: string, request?: GuardRequest): Promise<{ deleted: true }>;
}

/** Executions that wait for each other. */
export interface FlowCalls {
	/** Makes a flow whole, or nothing of it; the same again under its idempotency key is `created: false`. */
	create(request: CreateFlowRequest): Promise<CreatedFlow>;
	/** The flow with its nodes and edges as they are now. */
	get(id: string): Promise<FlowView>;
	/** Newest first, without nodes and edges. */
	list(request?: FlowsPageRequest): Promise<FlowPage>;
	/** The flow once it has ended, or as it is when the time is over. */
	wait(
		id: string,
		options?: {
			/** Milliseconds to wait (no limit). */
			timeoutMs?: number;
			/** Ends the wait with its reason (none). */
			signal?: AbortSignal;
		},
	): Promise<FlowSummary>;
	/** What happened to it and to its members, oldest first. */
	events(id: string, request?: EventsRequest, signal?: AbortSignal): Promise<EventPage>;
	/** Adds a node to a flow that is not sealed. The same again changes nothing. */
	addMember(id: string, node: NodeRequest): Promise<AddedMember>;
	/** Adds an edge to a flow that is not sealed and has this revision. The same again changes nothing. */
	addEdge(id: string, edge: EdgeRequest): Promise<AddedEdge>;
	/** Says what a node that nobody has claimed waits for. */
	setGroup(id: string, node: string, group: GroupRequest): Promise<FlowRevision>;
	/** From then on it takes no more members, edges and groups, and can end. */
	seal(id: string): Promise<FlowRevision>;
	/** No member starts from then on. `wait` waits until every member has been reached. */
	cancel(
		id: string,
		request: CancelFlowRequest,
		options?: {
			/** Wait until every member has been reached (false). */
			wait?: boolean;
		},
		signal?: AbortSignal,
	): Promise<CancelledFlow>;
	/** Removes every trace of an ended flow, or of one that was never sealed and has never run. */
	delete(id: string): Promise<{ deleted: true }>;
}

/** Waitpoints, and signals to them. */
export interface WaitpointCalls {
	/** What waits for somebody in a namespace, longest first. */
	inbox(request?: InboxRequest): Promise<InboxPage>;
	/** The open ones of an execution, or all of them, in the order they were made. */
	list(id: string, request?: WaitpointsRequest): Promise<WaitpointPage>;
	/** The token of a waitpoint, signed with the current key. */
	token(id: string, waitpointId: string): Promise<WaitpointToken>;
	/** Signals that an execution has had, in the order they came. */
	signals(id: string, request?: SignalsRequest): Promise<SignalPage>;
	/** Sends a signal with the token of its waitpoint. Sent again under its key it is a duplicate, whatever came of the first. */
	signal(id: string, request: SignalRequest): Promise<SignalReply>;
	/** What somebody posted to a callback URL. */
	callback(waitpointId: string, request: CallbackRequest): Promise<SignalReply>;
	/** Sends a signal as an operator, without the token. */
	approve(id: string, request: ApproveRequest): Promise<SignalReply>;
	/** Lets suspended work go on, whatever it waits for. */
	resume(id: string, request?: ResumeRequest): Promise<ResumeReply>;
}

/** Where to begin in a stream, and when to stop. */
export interface FollowFramesOptions {
	/** The id of a frame, start or end (start). */
	after?: string;
	/** Stops following (none). */
	signal?: AbortSignal;
}

/** What handlers tell while they run, attempt by attempt. */
export interface StreamCalls {
	/** A range of frames, oldest first. */
	read(id: string, attempt: number, request?: ReadFramesRequest): Promise<FramePage>;
	/**
	 * Frames behind one; with `waitMs`, as soon as there are some or the stream is closed. Asked for those behind the end, a
	 * page without any says where that was.
	 */
	tail(id: string, attempt: number, request?: TailFramesRequest, signal?: AbortSignal): Promise<TailedPage>;
	/** Pages as frames come, until the stream is closed or the signal aborts. It may begin before the attempt does. */
	follow(id: string, attempt: number, options?: FollowFramesOptions): AsyncIterable<FramePage>;
	/** The summary document of an attempt, with all patches applied; version 0 when there are none. */
	summary(id: string, attempt: number): Promise<SummaryView>;
}

/** What happens in a namespace. */
export interface FeedCalls {
	/**
	 * What happened in a namespace since the cursor. A page may be empty although more is to come, when other namespaces
	 * filled the log: reading on from `nextCursor` gets there. `cursor_expired` when something in between is gone.
	 */
	read(request?: FeedRequest, signal?: AbortSignal): Promise<EventPage>;
}

/** The engine itself, its store and its keys. */
export interface AdminCalls {
	/** The engine's background duties, one row each. */
	scanners(): Promise<ScannersReply>;
	/** Resolves when the store answers within 2 s and takes changes, else throws, mostly `store_unavailable`. */
	ready(): Promise<void>;
	/**
	 * All the store holds as lines of JSON, without line ends; `importFile` takes them in. Secrets that sign tokens of
	 * waitpoints stay behind unless they are asked for.
	 */
	backup(request?: BackupRequest): AsyncIterable<string>;
	/** Lets another key sign the tokens of waitpoints; those the former signed are taken for its grace. */
	rotateWaitpointSecret(request?: RotateSecretRequest): Promise<RotatedSecret>;
}

/**
 * Everything FlowFabric can be asked, area by area and call by call as in the HTTP API. The engine implements it in
 * process; a client implements it over HTTP. The library and the worker know nothing else. Refusals are thrown as
 * `FlowFabricError`.
 */
export interface Backend {
	/** Executions: submitting, reading and changing them. */
	readonly executions: ExecutionCalls;
	/** The worker protocol: claiming, and everything a holder does under its lease. */
	readonly leases: LeaseCalls;
	/** Who works in a namespace. */
	readonly workers: WorkerCalls;
	/** Queues, and what is in them. */
	readonly lanes: LaneCalls;
	/** Limits on spending, and who spent what. */
	readonly budgets: BudgetCalls;
	/** Limits on rate and concurrency. */
	readonly quotas: QuotaCalls;
	/** Waitpoints, and signals to them. */
	readonly waitpoints: WaitpointCalls;
	/** What handlers tell while they run, attempt by attempt. */
	readonly streams: StreamCalls;
	/** Executions that wait for each other. */
	readonly flows: FlowCalls;
	/** What happens in a namespace. */
	readonly feed: FeedCalls;
	/** The engine itself, its store and its keys. */
	readonly admin: AdminCalls;
	/** Lets go of the store or of the connections. */
	close(): Promise<void>;
}

/** Every call but letting go: what one caller among several has of a backend that is not its own. */
export type Calls = Omit<Backend, "close">;
