/** What FlowFabric answers, in process and over HTTP alike. Only types: whoever does not show schemas loads none of them. */

export type { RotatedSecret, ScannersReply, ScannerView } from "./replies/admin.ts";
export type {
	BudgetPage,
	BudgetReset,
	BudgetView,
	CreatedBudget,
	LedgerPage,
	ReleasedSpend,
	UsageReply,
} from "./replies/budgets.ts";
export type { ErrorBody } from "./replies/errors.ts";
export type { EventPage, ExecutionEventPage, FollowedEvent, ProgressNotice } from "./replies/events.ts";
export type {
	AttemptPage,
	AttemptView,
	BulkReply,
	Bytes,
	Cancel,
	CancelledExecution,
	CompletedExecution,
	Created,
	CreatedItem,
	Execution,
	ExecutionFields,
	ExecutionPage,
	Explanation,
	FailedExecution,
	Failure,
	OpenExecution,
	SkippedExecution,
} from "./replies/executions.ts";
export type {
	AddedEdge,
	AddedMember,
	CancelledFlow,
	CreatedFlow,
	FlowEdge,
	FlowNode,
	FlowPage,
	FlowRevision,
	FlowSummary,
	FlowView,
} from "./replies/flows.ts";
export type { LanePage, LaneStatus, LaneView } from "./replies/lanes.ts";
export type {
	AddedChild,
	ChildView,
	ClaimedExecution,
	CompletedItem,
	GrantView,
	ParentView,
	RenewedLease,
	WorkerNotice,
} from "./replies/leases.ts";
export type { CreatedQuota, ListedQuota, QuotaPage, QuotaView } from "./replies/quotas.ts";
export type { RecordedStep, StepPage, StepView } from "./replies/steps.ts";
export type { AppendedFrames, FramePage, FrameView, SummaryView, TailedPage } from "./replies/streams.ts";
export type {
	InboxItem,
	InboxPage,
	OpenedWaitpoint,
	ResumeReply,
	SignalPage,
	SignalReply,
	SignalView,
	SuspendReply,
	WaitpointPage,
	WaitpointToken,
	WaitpointView,
} from "./replies/waitpoints.ts";
export type { WorkerPage, WorkerView } from "./replies/workers.ts";
