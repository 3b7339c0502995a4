import type { BlockingReason } from "../state.ts";

/** Why an execution is suspended, and what its state says of that. */
export const SUSPENSION_REASONS = {
	waiting_for_signal: "waiting_for_signal",
	waiting_for_approval: "waiting_for_approval",
	waiting_for_callback: "waiting_for_callback",
	waiting_for_tool_result: "waiting_for_tool_result",
	waiting_for_operator_review: "waiting_for_approval",
	paused_by_policy: "paused_by_policy",
	paused_by_budget: "waiting_for_budget",
	step_boundary: "waiting_for_signal",
	manual_pause: "paused_by_operator",
} as const satisfies Record<string, BlockingReason>;

export type SuspensionReason = keyof typeof SUSPENSION_REASONS;
