import type { Policy } from "../../src/kernel/policy.ts";

/**
 * What an execution does, told a second time, from the specification alone: one plain object changed in place, no
 * records, no events kept, no indexes. The rules are held against it.
 */

export interface ModelFence {
	leaseId: string;
	epoch: number;
}

export interface ModelAttempt {
	type: "initial" | "retry" | "reclaim" | "replay";
	state: "started" | "ended_success" | "ended_failure" | "ended_cancelled" | "interrupted_reclaimed";
}

/** Where an execution stands; the seven fields follow from this by the table of situations. */
export type Situation =
	| { is: "waiting" }
	| { is: "delayed"; until: number; why: "delay" | "retry" }
	| { is: "active"; lease: ModelFence & { ttl: number; from: number; until: number } }
	| { is: "ended"; outcome: "success" | "failed" | "cancelled" | "expired"; at: number };

export type Answer = { ok: true; [field: string]: unknown } | { ok: false; code: string; [detail: string]: unknown };

export class ModelExecution {
	readonly id: string;
	readonly policy: Policy;
	priority: number;
	tags: Map<string, string>;
	readonly createdAt: number;
	situation: Situation;
	/** What the next claim starts; "same" goes on with the attempt that was interrupted. */
	next: ModelAttempt["type"] | "same" = "initial";
	attempts: ModelAttempt[] = [];
	epoch = 0;
	last: (ModelFence & { by: string; answer?: Answer }) | undefined;
	retries = 0;
	reclaims = 0;
	replays = 0;
	failure: { reason: string; category: string } | undefined;
	cancel: { source: string; reason?: string; deadlineAt?: number } | undefined;
	progress: { percent?: number; message?: string } = {};
	eligibleAt: number;
	deadlineFrom: number;
	/** Time the attempt has spent under leases that are over. */
	used = 0;
	/** How often in a row it was handed back. */
	releases = 0;
	/** What a history would tell of the last command. */
	told: string[] = [];

	constructor(of: {
		id: string;
		policy: Policy;
		priority: number;
		tags: Record<string, string>;
		now: number;
		delayUntil: number;
	}) {
		this.id = of.id;
		this.policy = of.policy;
		this.priority = Math.min(9000, Math.max(0, of.priority));
		this.tags = new Map(Object.entries(of.tags));
		this.createdAt = of.now;
		this.eligibleAt = of.now;
		this.deadlineFrom = of.now;
		this.situation = of.delayUntil > of.now ? { is: "delayed", until: of.delayUntil, why: "delay" } : { is: "waiting" };
		this.told = ["created"];
	}

	/** The seven fields of SPEC §2. */
	fields() {
		const { situation } = this;
		const runnable = { lifecyclePhase: "runnable", ownershipState: "unowned", terminalOutcome: "none" };
		switch (situation.is) {
			case "waiting":
				return {
					...runnable,
					publicState: "waiting",
					eligibilityState: "eligible_now",
					blockingReason: "waiting_for_worker",
					attemptState: this.#pending,
				};
			case "delayed":
				return {
					...runnable,
					publicState: "delayed",
					eligibilityState: "not_eligible_until_time",
					blockingReason: situation.why === "retry" ? "waiting_for_retry_backoff" : "waiting_for_delay",
					attemptState: this.#pending,
				};
			case "active":
				return {
					lifecyclePhase: "active",
					ownershipState: "leased",
					eligibilityState: "not_applicable",
					blockingReason: "none",
					terminalOutcome: "none",
					attemptState: "running_attempt",
					publicState: "active",
				};
			case "ended":
				return {
					lifecyclePhase: "terminal",
					ownershipState: "unowned",
					eligibilityState: "not_applicable",
					blockingReason: "none",
					terminalOutcome: situation.outcome,
					attemptState: this.attempts.length > 0 ? "attempt_terminal" : "none",
					publicState: situation.outcome === "success" ? "completed" : situation.outcome,
				};
		}
	}

	get #pending(): string {
		switch (this.next) {
			case "initial":
				return "pending_first_attempt";
			case "retry":
				return "pending_retry_attempt";
			case "replay":
				return "pending_replay_attempt";
			default:
				return "attempt_interrupted";
		}
	}

	get attempt(): ModelAttempt | undefined {
		return this.attempts.at(-1);
	}

	/** Undefined for the live lease, else what its holder must be told. */
	fence(fence: ModelFence | undefined, command: string): Answer | undefined {
		if (!fence) return { ok: false, code: "fence_required" };
		const same = (lease: ModelFence) => lease.leaseId === fence.leaseId && lease.epoch === fence.epoch;
		if (this.situation.is === "active" && same(this.situation.lease)) return undefined;
		if (!this.last || !same(this.last)) return { ok: false, code: "stale_lease" };
		if (this.last.by === "expired") return { ok: false, code: "lease_expired" };
		if (this.last.by === "revoked") return { ok: false, code: "lease_revoked" };
		if (this.last.by === command && this.last.answer) return this.last.answer;
		return this.notActive();
	}

	notActive(): Answer {
		return {
			ok: false,
			code: "execution_not_active",
			outcome: this.situation.is === "ended" ? this.situation.outcome : "none",
			epoch: this.epoch,
			...(this.attempts.length > 0 ? { attempt: this.attempts.length - 1 } : undefined),
		};
	}

	claim(leaseId: string, ttl: number, now: number): void {
		if (this.next !== "same") {
			this.attempts.push({ type: this.next, state: "started" });
			this.used = 0;
		}
		this.epoch += 1;
		this.situation = { is: "active", lease: { leaseId, epoch: this.epoch, ttl, from: now, until: now + ttl } };
		this.next = "same";
		this.told = ["claimed"];
	}

	/** The lease is over; what its holder's next call is told stays behind. */
	letGo(by: string, now: number, answer?: Answer): void {
		if (this.situation.is !== "active") return;
		const { leaseId, epoch, from } = this.situation.lease;
		this.used += now - from;
		if (by !== "release") this.releases = 0;
		this.last = { leaseId, epoch, by, ...(answer ? { answer } : undefined) };
	}

	wait(next: ModelExecution["next"], now: number): void {
		this.situation = { is: "waiting" };
		this.next = next;
		this.eligibleAt = now;
	}

	end(outcome: "success" | "failed" | "cancelled" | "expired", attempt: ModelAttempt["state"], now: number): void {
		if (this.attempt?.state === "started") this.attempt.state = attempt;
		this.situation = { is: "ended", outcome, at: now };
	}

	endCancelled(by: string, now: number): Answer {
		const answer: Answer = { ok: true, publicState: "cancelled" };
		this.letGo(by, now, answer);
		this.end("cancelled", "ended_cancelled", now);
		delete this.cancel?.deadlineAt;
		this.told = ["cancelled"];
		return answer;
	}
}
