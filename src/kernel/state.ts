/**
 * The state of an execution: six stored fields changed together, and `publicState`, a pure function of them. The
 * situations below are the only combinations rules may write.
 *
 * Stored documents name a value by its place in its list: lists may only grow at their end.
 */

export const LIFECYCLE_PHASES = ["runnable", "active", "suspended", "terminal"] as const;
export type LifecyclePhase = (typeof LIFECYCLE_PHASES)[number];

export const OWNERSHIP_STATES = ["unowned", "leased", "granted", "lease_expired"] as const;
export type OwnershipState = (typeof OWNERSHIP_STATES)[number];

export const ELIGIBILITY_STATES = [
	"eligible_now",
	"not_eligible_until_time",
	"blocked_by_dependencies",
	"blocked_by_budget",
	"blocked_by_quota",
	"blocked_by_route",
	"blocked_by_lane_state",
	"blocked_by_operator",
	"not_applicable",
] as const;
export type EligibilityState = (typeof ELIGIBILITY_STATES)[number];

export const BLOCKING_REASONS = [
	"none",
	"waiting_for_worker",
	"waiting_for_retry_backoff",
	"waiting_for_resume_delay",
	"waiting_for_delay",
	"waiting_for_signal",
	"waiting_for_approval",
	"waiting_for_callback",
	"waiting_for_tool_result",
	"waiting_for_children",
	"waiting_for_budget",
	"waiting_for_quota",
	"waiting_for_capable_worker",
	"paused_by_operator",
	"paused_by_policy",
	"paused_by_flow_cancel",
] as const;
export type BlockingReason = (typeof BLOCKING_REASONS)[number];

export const TERMINAL_OUTCOMES = ["none", "success", "failed", "cancelled", "expired", "skipped"] as const;
export type TerminalOutcome = (typeof TERMINAL_OUTCOMES)[number];

export const ATTEMPT_STATES = [
	"none",
	"pending_first_attempt",
	"running_attempt",
	"attempt_interrupted",
	"pending_retry_attempt",
	"pending_replay_attempt",
	"attempt_terminal",
] as const;
export type AttemptState = (typeof ATTEMPT_STATES)[number];

export const PUBLIC_STATES = [
	"waiting",
	"delayed",
	"rate_limited",
	"waiting_children",
	"active",
	"suspended",
	"completed",
	"failed",
	"cancelled",
	"expired",
	"skipped",
] as const;

/** What an execution does now, or how it ended. */
export type PublicState = (typeof PUBLIC_STATES)[number];

/** The states of what has ended. */
export const ENDED_STATES: ReadonlySet<PublicState> = new Set([
	"completed",
	"failed",
	"cancelled",
	"expired",
	"skipped",
]);

export interface StateFields {
	lifecyclePhase: LifecyclePhase;
	ownershipState: OwnershipState;
	eligibilityState: EligibilityState;
	blockingReason: BlockingReason;
	terminalOutcome: TerminalOutcome;
	attemptState: AttemptState;
}

export function publicState(state: StateFields): PublicState {
	switch (state.lifecyclePhase) {
		case "terminal":
			return state.terminalOutcome === "success" ? "completed" : (state.terminalOutcome as PublicState);
		case "suspended":
			return "suspended";
		case "active":
			return "active";
		case "runnable":
			switch (state.eligibilityState) {
				case "not_eligible_until_time":
					return "delayed";
				case "blocked_by_dependencies":
					return "waiting_children";
				case "blocked_by_budget":
				case "blocked_by_quota":
					return "rate_limited";
				default:
					return "waiting";
			}
	}
}

export const hasEnded = ({ lifecyclePhase }: Pick<StateFields, "lifecyclePhase">): boolean =>
	lifecyclePhase === "terminal";

/**
 * Whether work waits to be leased, and its queue timeout runs. What refuses it admission does not stop that; it stops for
 * what has to happen before it is anybody's turn.
 */
export const isQueued = ({ lifecyclePhase, eligibilityState }: StateFields): boolean =>
	lifecyclePhase === "runnable" && QUEUED[eligibilityState];

const QUEUED: Record<EligibilityState, boolean> = {
	eligible_now: true,
	blocked_by_budget: true,
	blocked_by_quota: true,
	blocked_by_route: true,
	blocked_by_lane_state: true,
	not_eligible_until_time: false,
	blocked_by_dependencies: false,
	blocked_by_operator: false,
	not_applicable: false,
};

/** Ready for any worker: created, promoted, handed back or replayed. */
export const eligible = (attemptState: AttemptState): StateFields => ({
	lifecyclePhase: "runnable",
	ownershipState: "unowned",
	eligibilityState: "eligible_now",
	blockingReason: "waiting_for_worker",
	terminalOutcome: "none",
	attemptState,
});

/** Waits for a time to come. */
export const delayed = (reason: BlockingReason, attemptState: AttemptState): StateFields => ({
	lifecyclePhase: "runnable",
	ownershipState: "unowned",
	eligibilityState: "not_eligible_until_time",
	blockingReason: reason,
	terminalOutcome: "none",
	attemptState,
});

/** Kept out of everybody's way for one worker. */
export const granted = (attemptState: AttemptState): StateFields => ({
	...eligible(attemptState),
	ownershipState: "granted",
});

/** Refused admission until its cause changes. */
export const blocked = (
	by: Extract<EligibilityState, `blocked_by_${string}`>,
	reason: BlockingReason,
	attemptState: AttemptState,
): StateFields => ({ ...eligible(attemptState), eligibilityState: by, blockingReason: reason });

export const claimed = (): StateFields => ({
	lifecyclePhase: "active",
	ownershipState: "leased",
	eligibilityState: "not_applicable",
	blockingReason: "none",
	terminalOutcome: "none",
	attemptState: "running_attempt",
});

/** Waits for a signal, a person or a time, and holds nothing. */
export const suspended = (reason: BlockingReason): StateFields => ({
	lifecyclePhase: "suspended",
	ownershipState: "unowned",
	eligibilityState: "not_applicable",
	blockingReason: reason,
	terminalOutcome: "none",
	attemptState: "attempt_interrupted",
});

export const ended = (outcome: Exclude<TerminalOutcome, "none">, ran: boolean): StateFields => ({
	lifecyclePhase: "terminal",
	ownershipState: "unowned",
	eligibilityState: "not_applicable",
	blockingReason: "none",
	terminalOutcome: outcome,
	attemptState: ran ? "attempt_terminal" : "none",
});
