import { endBytes, MOST_PASSED_FAILURES } from "../carried.ts";
import { MOST_PASSED_BYTES } from "../payload.ts";
import type { ExecutionRecord, Group, Member } from "../records/execution.ts";
import { type AttemptState, blocked, delayed, eligible, type StateFields } from "../state.ts";
import { isSatisfied } from "./groups.ts";

export const noGroup: Group = Object.freeze({ policy: "all_of", edges: 0, satisfied: 0, impossible: 0 });

/** Where a member stands that may run as far as its group is concerned; its own delay begins then. */
export function afterGroup(
	record: Pick<ExecutionRecord, "delayUntil" | "attemptState">,
	member: Member,
	now: number,
): Partial<ExecutionRecord> {
	const { attemptState } = record;
	const delayUntil = member.delayMs === undefined ? record.delayUntil : now + member.delayMs;
	if (delayUntil <= now) return { ...eligible(attemptState), delayUntil: 0, eligibleAt: now };
	return { ...delayed("waiting_for_delay", attemptState), delayUntil };
}

/** Waits for its upstreams. */
export const beforeGroup = (attemptState: AttemptState): StateFields =>
	blocked("blocked_by_dependencies", "waiting_for_children", attemptState);

export const isWaitingForGroup = ({ member, eligibilityState, lifecyclePhase }: ExecutionRecord): boolean =>
	member !== null &&
	lifecyclePhase === "runnable" &&
	eligibilityState === "blocked_by_dependencies" &&
	!isSatisfied(member.group);

/** A member to which one more upstream has passed its result, or why there is none. */
export function withPassed(member: Member, upstream: ExecutionRecord): Member {
	const size = endBytes(upstream);
	if (size === 0) return member;
	return {
		...member,
		passedBytes: Math.min(MOST_PASSED_BYTES + MOST_PASSED_FAILURES, (member.passedBytes ?? 0) + size),
	};
}

/** Whether its end counts against its flow, if nobody heeds it. */
export const isBad = ({ terminalOutcome, cancel }: ExecutionRecord): boolean => {
	switch (terminalOutcome) {
		case "failed":
		case "expired":
			return true;
		case "cancelled":
			return cancel?.isSpared !== true;
		default:
			return false;
	}
};
