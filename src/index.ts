export type { ConnectOptions } from "./client/options.ts";
export type {
	AdminCalls,
	Backend,
	BudgetCalls,
	Calls,
	ExecutionCalls,
	FeedCalls,
	FlowCalls,
	FollowOptions,
	LaneCalls,
	LeaseCalls,
	QuotaCalls,
	StreamCalls,
	WaitpointCalls,
	WorkerCalls,
} from "./contract/backend.ts";
export type {
	CreateBudgetRequest,
	LedgerRequest,
	PatchBudgetRequest,
	ReleaseSpendRequest,
	ResetBudgetRequest,
	UsageRequest,
	WorkerUsageRequest,
} from "./contract/budgets.ts";
export type { BulkRequest } from "./contract/bulk.ts";
export type { AddChildrenRequest, ChildRequest, WaitChildrenRequest } from "./contract/children.ts";
export { FlowFabricError } from "./contract/errors.ts";
export type {
	AttemptsRequest,
	CancelRequest,
	ChangePriorityRequest,
	CreateRequest,
	EventsRequest,
	ListRequest,
	ReplayRequest,
	RevokeLeaseRequest,
} from "./contract/executions.ts";
export type { FeedRequest } from "./contract/feed.ts";
export type {
	CancelFlowRequest,
	CreateFlowRequest,
	EdgeRequest,
	FlowsPageRequest,
	GroupRequest,
	NodeRequest,
} from "./contract/flows.ts";
export type { GuardRequest, GuardsPageRequest } from "./contract/guards.ts";
export type { BackupRequest, RotateSecretRequest } from "./contract/keys.ts";
export type { LaneSettings, LanesPageRequest, LanesRequest } from "./contract/lanes.ts";
export type { CreateQuotaRequest, PatchQuotaRequest } from "./contract/quotas.ts";
export type * from "./contract/replies.ts";
export type { RecordStepRequest, StepOptions, StepsRequest } from "./contract/steps.ts";
export type {
	AppendFramesRequest,
	FrameRequest,
	ReadFramesRequest,
	TailFramesRequest,
} from "./contract/streams.ts";
export type { SetTagsRequest } from "./contract/tags.ts";
export type {
	ApproveRequest,
	CallbackRequest,
	CreateWaitpointRequest,
	InboxRequest,
	ResumeRequest,
	SignalRequest,
	SignalsRequest,
	SuspendRequest,
	WaitpointsRequest,
} from "./contract/waitpoints.ts";
export type {
	AcceptGrantRequest,
	ClaimRequest,
	CompleteRequest,
	DelayRequest,
	FailRequest,
	GrantRequest,
	ProgressRequest,
	ReleaseRequest,
	RenewRequest,
} from "./contract/worker-protocol.ts";
export type { RegisterWorkerRequest, WorkersPageRequest, WorkersRequest } from "./contract/workers.ts";
export type { Fault } from "./engine/fault-log.ts";
export type { ErrorCode } from "./kernel/errors.ts";
export type { ExecutionEventDetails, FlowEventDetails } from "./kernel/event-details.ts";
export type {
	AnyEvent,
	EventType,
	ExecutionEvent,
	ExecutionEventType,
	FlowEvent,
	FlowEventType,
} from "./kernel/events.ts";
export type { Policy } from "./kernel/policy.ts";
export type { PublicState } from "./kernel/state.ts";
export type { StateName } from "./kernel/state-filter.ts";
export type { Condition, CountCondition } from "./kernel/suspension/condition.ts";
export {
	FlowDraft,
	type FlowOptions,
	type FlowRequest,
	FlowRun,
	type NodeOptions,
	type Upstream,
} from "./library/flow.ts";
export { FlowFabric, type Submitted, type TypedWorker } from "./library/flowfabric.ts";
export type { AnyKinds, InputOf, Kinds, ResultOf, SubmitArguments, SubmitItem } from "./library/kinds.ts";
export { exportFile, importFile } from "./library/moving.ts";
export type { OpenOptions } from "./library/open.ts";
export { ExecutionFailed, Run, type WaitOptions } from "./library/run.ts";
export type { SubmitOptions } from "./library/submission.ts";
export type { TailedFrame, TailOptions } from "./library/tail.ts";
export type { Child, ChildOptions, ChildOutcome, WaitForChildrenOptions } from "./worker/children.ts";
export type { Context, Handler, Middleware, Parent } from "./worker/context.ts";
export {
	type AbortCause,
	HandlerAborted,
	HandlerSuspended,
	RetryAfter,
	StepTimeout,
	TerminalError,
	WaitTimeout,
} from "./worker/errors.ts";
export type { FrameOptions, StreamWriter } from "./worker/frame-writer.ts";
export type { WorkerEvents, WorkerListener } from "./worker/hooks.ts";
export type { HandlerLog, LogCall, Logger } from "./worker/logger.ts";
export type { ReceivedSignal } from "./worker/received-signal.ts";
export type { StepFunction } from "./worker/steps.ts";
export type { Approval, WaitForApprovalOptions, WaitForOptions, WaitForSignalOptions } from "./worker/waits.ts";
export type { WorkerOptions } from "./worker/worker-options.ts";
