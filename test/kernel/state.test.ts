import { describe, expect, it } from "vitest";
import {
	type AttemptState,
	type BlockingReason,
	claimed,
	delayed,
	type EligibilityState,
	eligible,
	ended,
	PUBLIC_STATES,
	type PublicState,
	publicState,
	type StateFields,
} from "../../src/kernel/state.ts";

const base: StateFields = {
	lifecyclePhase: "runnable",
	ownershipState: "unowned",
	eligibilityState: "eligible_now",
	blockingReason: "waiting_for_worker",
	terminalOutcome: "none",
	attemptState: "pending_first_attempt",
};

describe("publicState", () => {
	const runnable: Record<Exclude<EligibilityState, "not_applicable">, PublicState> = {
		eligible_now: "waiting",
		blocked_by_route: "waiting",
		blocked_by_lane_state: "waiting",
		blocked_by_operator: "waiting",
		not_eligible_until_time: "delayed",
		blocked_by_dependencies: "waiting_children",
		blocked_by_budget: "rate_limited",
		blocked_by_quota: "rate_limited",
	};
	for (const [eligibilityState, expected] of Object.entries(runnable)) {
		it(`runnable and ${eligibilityState} is ${expected}`, () => {
			expect(publicState({ ...base, eligibilityState: eligibilityState as EligibilityState })).toBe(expected);
		});
	}

	const outcomes = {
		success: "completed",
		failed: "failed",
		cancelled: "cancelled",
		expired: "expired",
		skipped: "skipped",
	} as const;
	for (const [outcome, expected] of Object.entries(outcomes)) {
		it(`ended in ${outcome} is ${expected}`, () => {
			expect(publicState(ended(outcome as keyof typeof outcomes, true))).toBe(expected);
		});
	}

	it("active and suspended are themselves, whatever else is said", () => {
		for (const lifecyclePhase of ["active", "suspended"] as const) {
			for (const eligibilityState of ["not_applicable", "blocked_by_budget", "eligible_now"] as const) {
				expect(publicState({ ...base, lifecyclePhase, eligibilityState })).toBe(lifecyclePhase);
			}
		}
	});

	it("does not hang on owner, reason or attempt", () => {
		const reasons: BlockingReason[] = ["none", "waiting_for_budget", "paused_by_operator"];
		const attempts: AttemptState[] = ["none", "running_attempt", "attempt_interrupted"];
		for (const ownershipState of ["unowned", "leased", "granted", "lease_expired"] as const)
			for (const blockingReason of reasons)
				for (const attemptState of attempts)
					expect(publicState({ ...base, ownershipState, blockingReason, attemptState })).toBe("waiting");
	});

	it("knows every public state of the specification", () => {
		expect([...PUBLIC_STATES].sort()).toEqual(
			[
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
			].sort(),
		);
	});
});

describe("situations", () => {
	it("are those of the specification's table", () => {
		expect(eligible("pending_first_attempt")).toEqual(base);
		expect(eligible("attempt_interrupted")).toEqual({ ...base, attemptState: "attempt_interrupted" });
		expect(delayed("waiting_for_delay", "pending_first_attempt")).toEqual({
			...base,
			eligibilityState: "not_eligible_until_time",
			blockingReason: "waiting_for_delay",
		});
		expect(claimed()).toEqual({
			lifecyclePhase: "active",
			ownershipState: "leased",
			eligibilityState: "not_applicable",
			blockingReason: "none",
			terminalOutcome: "none",
			attemptState: "running_attempt",
		});
		const over = {
			lifecyclePhase: "terminal",
			ownershipState: "unowned",
			eligibilityState: "not_applicable",
			blockingReason: "none",
		};
		expect(ended("failed", true)).toEqual({ ...over, terminalOutcome: "failed", attemptState: "attempt_terminal" });
		expect(ended("cancelled", false)).toEqual({ ...over, terminalOutcome: "cancelled", attemptState: "none" });
	});
});
