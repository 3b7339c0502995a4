import type { PublicState } from "../kernel/state.ts";
import type { BulkRequest } from "./bulk.ts";
import type {
	CancelRequest,
	ChangePriorityRequest,
	CreateRequest,
	EventsRequest,
	ListRequest,
	RevokeLeaseRequest,
} from "./executions.ts";
import type {
	AttemptView,
	BulkReply,
	Bytes,
	ClaimedExecution,
	CompletedItem,
	Created,
	CreatedItem,
	EventPage,
	Execution,
	ExecutionPage,
	RenewedLease,
	WorkerNotice,
} from "./replies.ts";
import type { SetTagsRequest } from "./tags.ts";
import type {
	ClaimRequest,
	CompleteRequest,
	DelayRequest,
	FailRequest,
	ProgressRequest,
	ReleaseRequest,
	RenewRequest,
} from "./worker-protocol.ts";

/** What can be asked about executions. */
export interface ExecutionCalls {
	create(request: CreateRequest): Promise<Created>;
	createMany(items: CreateRequest[]): Promise<CreatedItem[]>;
	get(id: string): Promise<Execution>;
	list(request?: ListRequest): Promise<ExecutionPage>;
	input(id: string): Promise<Bytes | undefined>;
	result(id: string): Promise<Bytes>;
	/** The execution once it has ended, or as it is when the time is over. */
	wait(id: string, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Execution>;
	/** What happened since; with `waitMs`, as soon as something has. */
	events(id: string, request?: EventsRequest, signal?: AbortSignal): Promise<EventPage>;
	attempts(id: string): Promise<AttemptView[]>;
	cancel(id: string, request?: CancelRequest): Promise<{ publicState: PublicState; cancelRequested?: true }>;
	replay(id: string): Promise<{ publicState: PublicState; replays: number }>;
	delete(id: string): Promise<{ deleted: true }>;
	changePriority(id: string, request: ChangePriorityRequest): Promise<{ publicState: PublicState; priority: number }>;
	setTags(id: string, request: SetTagsRequest): Promise<{ tags: Record<string, string> }>;
	/** Does the same to everything a filter finds, at most 1000 per call; goes on from `nextCursor`. */
	bulk(request: BulkRequest): Promise<BulkReply>;
	revokeLease(
		id: string,
		request?: RevokeLeaseRequest,
	): Promise<{ revoked: true; leaseId: string; epoch: number } | { revoked: false; reason: "no_active_lease" }>;
}

/** The worker protocol: claiming, and everything a holder does under its lease. */
export interface LeaseCalls {
	claim(request: ClaimRequest, signal?: AbortSignal): Promise<ClaimedExecution[]>;
	renew(request: RenewRequest): Promise<RenewedLease[]>;
	complete(id: string, request: CompleteRequest): Promise<{ publicState: PublicState }>;
	completeMany(items: (CompleteRequest & { executionId: string })[]): Promise<CompletedItem[]>;
	fail(id: string, request: FailRequest): Promise<{ publicState: PublicState; retryAt?: number }>;
	delay(id: string, request: DelayRequest): Promise<{ publicState: PublicState; delayUntil?: number }>;
	release(id: string, request: ReleaseRequest): Promise<{ publicState: PublicState }>;
	progress(id: string, request: ProgressRequest): Promise<{ percent?: number; message?: string }>;
	/** Calls back at once for work this instance holds; ends when the returned function is called. */
	notices(instanceId: string, listener: (notice: WorkerNotice) => void): () => void;
}

/**
 * Everything FlowFabric can be asked, area by area and call by call as in the HTTP API. The engine implements it in
 * process; a client implements it over HTTP. The library and the worker know nothing else. Refusals are thrown as
 * `FlowFabricError`.
 */
export interface Backend {
	readonly executions: ExecutionCalls;
	readonly leases: LeaseCalls;
	close(): Promise<void>;
}

/** Every call but letting go: what one caller among several has of a backend that is not its own. */
export type Calls = Omit<Backend, "close">;
