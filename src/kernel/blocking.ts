import type { ExecutionRecord } from "./records/execution.ts";
import type { StateFields } from "./state.ts";

/** Why work that is ready otherwise is set aside, and what its state says of that. */
export const BLOCKING_CAUSES = {
	budget: { eligibilityState: "blocked_by_budget", blockingReason: "waiting_for_budget" },
	quota: { eligibilityState: "blocked_by_quota", blockingReason: "waiting_for_quota" },
	route: { eligibilityState: "blocked_by_route", blockingReason: "waiting_for_capable_worker" },
} as const satisfies Record<string, Partial<StateFields>>;

export type BlockingCause = keyof typeof BLOCKING_CAUSES;

/** The budget that paused an execution and asks whether it may go on; it waits for that budget like what is set aside. */
export const pausingBudget = ({ suspension }: Pick<ExecutionRecord, "suspension">): string | undefined =>
	suspension?.budget;

/** What keeps an execution set aside; undefined when nothing of the kind does. */
export function blockingCauseOf({ lifecyclePhase, eligibilityState }: StateFields): BlockingCause | undefined {
	if (lifecyclePhase !== "runnable") return undefined;
	for (const cause in BLOCKING_CAUSES)
		if (BLOCKING_CAUSES[cause as BlockingCause].eligibilityState === eligibilityState) return cause as BlockingCause;
	return undefined;
}
