import type { FlowRecord } from "../records/flow.ts";
import { ENDED_STATES, type PublicState } from "../state.ts";

export const FLOW_STATES = ["open", "running", "blocked", "completed", "failed", "cancelled"] as const;
export type FlowState = (typeof FLOW_STATES)[number];

/** The state of a flow, by how it ended, else by the states its members are in. */
export function flowStateOf(
	{ outcome, isSealed }: FlowRecord,
	counts: Partial<Record<PublicState, number>>,
): FlowState {
	if (outcome !== "") return outcome;
	if ((counts.active ?? 0) > 0) return "running";
	// More may come to what is not sealed yet.
	if ((counts.waiting ?? 0) > 0 || !isSealed) return "open";
	const hasOpen = Object.keys(counts).some((state) => !ENDED_STATES.has(state as PublicState));
	// When all have ended, how the flow has is being worked out.
	return hasOpen ? "blocked" : "running";
}
