import { type BlockingReason, ENDED_STATES, PUBLIC_STATES, type PublicState } from "./state.ts";

/** Which states somebody means who asks for work by its state or by its reason. */

/** Names for several states at once: `open` is whatever has not ended. */
const STATE_GROUPS = ["open", "ended"] as const;

/** A state, or a group of them. */
export type StateName = PublicState | (typeof STATE_GROUPS)[number];

export const STATE_NAMES: readonly StateName[] = [...PUBLIC_STATES, ...STATE_GROUPS];

export function statesNamed(names: readonly StateName[]): ReadonlySet<PublicState> {
	return new Set(
		PUBLIC_STATES.filter(
			(state) => names.includes(state) || names.includes(ENDED_STATES.has(state) ? "ended" : "open"),
		),
	);
}

/** The states in which readers may see a reason; in every other state nothing has it. */
export const statesWithReason = (reason: BlockingReason): ReadonlySet<PublicState> =>
	new Set(STATES_WITH_REASON[reason]);

const STATES_WITH_REASON: Record<BlockingReason, readonly PublicState[]> = {
	none: ["active", ...ENDED_STATES],
	waiting_for_worker: ["waiting"],
	waiting_for_retry_backoff: ["delayed"],
	waiting_for_resume_delay: ["delayed"],
	waiting_for_delay: ["delayed"],
	waiting_for_signal: ["suspended"],
	waiting_for_approval: ["suspended"],
	waiting_for_callback: ["suspended"],
	waiting_for_tool_result: ["suspended"],
	waiting_for_children: ["waiting_children"],
	// A budget refuses to let work start, or pauses it.
	waiting_for_budget: ["rate_limited", "suspended"],
	waiting_for_quota: ["rate_limited"],
	waiting_for_capable_worker: ["waiting"],
	paused_by_operator: ["suspended"],
	// Work in a paused lane, or suspended by its own handler.
	paused_by_policy: ["waiting", "suspended"],
	paused_by_flow_cancel: ["waiting"],
};
