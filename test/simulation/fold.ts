import type { ExecutionEvent } from "../../src/kernel/events.ts";
import type { BlockingReason, StateFields } from "../../src/kernel/state.ts";

/** The state an execution's events alone tell of, worked out without the rules that wrote them. */
export interface Told extends StateFields {
	ran: boolean;
	liveLease: string | undefined;
}

const waiting = { lifecyclePhase: "runnable", ownershipState: "unowned", terminalOutcome: "none" } as const;
const ready = { ...waiting, eligibilityState: "eligible_now", blockingReason: "waiting_for_worker" } as const;
const later = { ...waiting, eligibilityState: "not_eligible_until_time" } as const;

function blockedBy(reason: unknown): Pick<StateFields, "eligibilityState" | "blockingReason"> {
	if (reason === "waiting_for_budget") return { eligibilityState: "blocked_by_budget", blockingReason: reason };
	if (reason === "waiting_for_quota") return { eligibilityState: "blocked_by_quota", blockingReason: reason };
	if (reason === "paused_by_flow_cancel") return { eligibilityState: "blocked_by_operator", blockingReason: reason };
	return { eligibilityState: "blocked_by_route", blockingReason: "waiting_for_capable_worker" };
}

const forGroup = { eligibilityState: "blocked_by_dependencies", blockingReason: "waiting_for_children" } as const;

/** What the state says of a reason to wait; the others are said as they are. */
const WAITS_FOR: Partial<Record<string, BlockingReason>> = {
	waiting_for_operator_review: "waiting_for_approval",
	paused_by_budget: "waiting_for_budget",
	step_boundary: "waiting_for_signal",
	manual_pause: "paused_by_operator",
};

/** `waits` is whether a member that is new, or replayed, has to wait for its group first: its flow tells that. */
export function fold(told: Told | undefined, event: ExecutionEvent, waits = false): Told {
	if (event.type === "created") {
		const base = { attemptState: "pending_first_attempt", ran: false, liveLease: undefined } as const;
		if (waits) return { ...waiting, ...forGroup, ...base };
		return event.delayUntil === undefined
			? { ...ready, ...base }
			: { ...later, blockingReason: "waiting_for_delay", ...base };
	}
	if (!told) throw new Error(`history begins with ${event.type}`);
	const free = { ...told, liveLease: undefined };
	switch (event.type) {
		case "eligible":
			return { ...told, ...ready };
		case "unblocked":
			if (told.blockingReason !== event.reason)
				throw new Error(`released as ${event.reason} while it was ${told.blockingReason}`);
			return { ...told, ...ready };
		case "blocked":
			if (event.suspensionId !== undefined) {
				if (told.lifecyclePhase !== "suspended") throw new Error(`escalated while ${told.lifecyclePhase}`);
				return { ...told, blockingReason: "paused_by_operator" };
			}
			if (event.reason === "waiting_for_children") return { ...told, ...waiting, ...forGroup, ...freshAttempt(told) };
			if (event.reason === "paused_by_flow_cancel") {
				if (told.lifecyclePhase !== "runnable") throw new Error(`paused while ${told.lifecyclePhase}`);
				return { ...told, ...waiting, ...blockedBy(event.reason) };
			}
			if (told.eligibilityState !== "eligible_now" || told.ownershipState !== "unowned")
				throw new Error(`blocked while ${told.ownershipState} and ${told.eligibilityState}`);
			return { ...told, ...waiting, ...blockedBy(event.reason) };
		case "granted":
			if (told.eligibilityState !== "eligible_now" || told.ownershipState !== "unowned")
				throw new Error(`granted while ${told.ownershipState} and ${told.eligibilityState}`);
			return { ...told, ownershipState: "granted" };
		case "grant_lapsed":
			if (told.ownershipState !== "granted") throw new Error("a grant lapsed that was none");
			return { ...told, ...ready };
		case "claimed":
			if (told.liveLease) throw new Error(`claimed as ${event.leaseId} while ${told.liveLease} lives`);
			return {
				lifecyclePhase: "active",
				ownershipState: "leased",
				eligibilityState: "not_applicable",
				blockingReason: "none",
				terminalOutcome: "none",
				attemptState: "running_attempt",
				ran: true,
				liveLease: String(event.leaseId),
			};
		case "lease_expired":
		case "lease_revoked":
			return { ...free, ...ready, attemptState: "attempt_interrupted" };
		case "lease_released":
			return event.delayUntil === undefined
				? { ...free, ...ready, attemptState: "attempt_interrupted" }
				: { ...free, ...later, blockingReason: "waiting_for_delay", attemptState: "attempt_interrupted" };
		case "retry_scheduled":
			return { ...free, ...later, blockingReason: "waiting_for_retry_backoff", attemptState: "pending_retry_attempt" };
		case "delayed":
			if (!told.liveLease) return { ...told, ...later, blockingReason: "waiting_for_delay" };
			return { ...free, ...later, blockingReason: "waiting_for_delay", attemptState: "attempt_interrupted" };
		case "suspended": {
			if (!told.liveLease) throw new Error(`suspended while ${told.lifecyclePhase}, without a lease`);
			const reason = String(event.reason);
			return {
				lifecyclePhase: "suspended",
				ownershipState: "unowned",
				eligibilityState: "not_applicable",
				blockingReason: WAITS_FOR[reason] ?? (reason as BlockingReason),
				terminalOutcome: "none",
				attemptState: "attempt_interrupted",
				ran: true,
				liveLease: undefined,
			};
		}
		case "resumed":
			if (told.lifecyclePhase !== "suspended") throw new Error(`resumed while ${told.lifecyclePhase}`);
			if (event.delayUntil === undefined) return { ...told, ...ready };
			return { ...told, ...later, blockingReason: "waiting_for_resume_delay" };
		case "signalled":
		case "cancel_requested":
		case "priority_changed":
		case "tags_changed":
			return told;
		case "replayed":
			return { ...free, ...ready, ...(waits ? forGroup : undefined), attemptState: "pending_replay_attempt" };
		case "completed":
		case "failed":
		case "cancelled":
		case "expired":
		case "skipped":
			return {
				...free,
				lifecyclePhase: "terminal",
				ownershipState: "unowned",
				eligibilityState: "not_applicable",
				blockingReason: "none",
				terminalOutcome: event.type === "completed" ? "success" : event.type,
				attemptState: told.ran ? "attempt_terminal" : "none",
			};
		default:
			throw new Error(`no such event: ${event.type}`);
	}
}

/** What a member would begin with, once its group lets it. */
const freshAttempt = ({ ran }: Told): Pick<StateFields, "attemptState"> => ({
	attemptState: ran ? "pending_replay_attempt" : "pending_first_attempt",
});
