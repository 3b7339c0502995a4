import type { Attempt, AttemptEnd } from "../records/execution.ts";

export const CLOSE_REASONS = ["completed", "failed", "cancelled", "lease_expired", "lease_revoked"] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

const REASONS: Record<AttemptEnd, CloseReason> = {
	ended_success: "completed",
	ended_failure: "failed",
	ended_cancelled: "cancelled",
	interrupted_reclaimed: "lease_expired",
};

/** When and why the stream of an attempt was closed: with the attempt. Undefined while it is open. */
export function closingOf(
	attempt: Attempt | null | undefined,
): { closedAt: number; closeReason: CloseReason } | undefined {
	if (!attempt || attempt.endedAt === undefined) return undefined;
	const { endedAt, state, isRevoked } = attempt;
	return { closedAt: endedAt, closeReason: isRevoked ? "lease_revoked" : REASONS[state as AttemptEnd] };
}
