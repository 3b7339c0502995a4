import type { Answer, ModelExecution, ModelFence } from "./model.ts";

/** Commands on an execution and its timers, as SPEC §3 and §4 tell them. Each changes the model and gives its answer. */

export function complete(it: ModelExecution, fence: ModelFence | undefined, now: number): Answer {
	const refused = it.fence(fence, "complete");
	if (refused) return refused;
	const answer: Answer = { ok: true, publicState: "completed" };
	it.letGo("complete", now, answer);
	it.end("success", "ended_success", now);
	it.told = ["completed"];
	return answer;
}

export interface ModelReport {
	reason: string;
	category: string;
	retryable?: boolean;
	retryAfterMs?: number;
}

export function fail(it: ModelExecution, fence: ModelFence | undefined, report: ModelReport, now: number): Answer {
	const refused = it.fence(fence, "fail");
	if (refused) return refused;
	if (it.cancel) return it.endCancelled("fail", now);
	return endAttempt(it, report, "fail", now);
}

function endAttempt(it: ModelExecution, report: ModelReport, by: string, now: number): Answer {
	it.failure = { reason: report.reason, category: report.category };
	const wait = retryWait(it, report);
	if (wait === undefined) {
		const answer: Answer = { ok: true, publicState: "failed" };
		it.letGo(by, now, answer);
		it.end("failed", "ended_failure", now);
		it.told = ["failed"];
		return answer;
	}
	const answer: Answer = { ok: true, publicState: "delayed", retryAt: now + wait };
	it.letGo(by, now, answer);
	if (it.attempt) it.attempt.state = "ended_failure";
	it.retries += 1;
	it.next = "retry";
	it.situation = { is: "delayed", until: now + wait, why: "retry" };
	it.told = ["retry_scheduled"];
	return answer;
}

/** Backoffs without jitter only: the model knows no chance. */
function retryWait(it: ModelExecution, report: ModelReport): number | undefined {
	const retry = it.policy.retry ?? (report.retryable ? {} : undefined);
	if (!retry || report.category === "permanent" || report.retryable === false) return undefined;
	if (it.retries >= (retry.maxRetries ?? 3)) return undefined;
	if (retry.nonRetryableCategories?.some((category) => category === report.category)) return undefined;
	if (retry.retryableCategories?.every((category) => category !== report.category)) return undefined;
	if (report.retryAfterMs !== undefined) return report.retryAfterMs;
	const backoff = retry.backoff ?? { type: "exponential" };
	if (backoff.type === "fixed") return backoff.delayMs;
	let wait = backoff.initialMs ?? 1000;
	for (let n = 0; n < it.retries; n++) wait *= backoff.multiplier ?? 2;
	return Math.min(wait, backoff.maxMs ?? 60_000);
}

export function release(it: ModelExecution, fence: ModelFence | undefined, now: number): Answer {
	const refused = it.fence(fence, "release");
	if (refused) return refused;
	if (it.cancel) return it.endCancelled("release", now);
	it.releases += 1;
	const from = it.situation.is === "active" ? it.situation.lease.from : now;
	const until = it.releases > 10 ? from + Math.min(30_000, 100 * 2 ** (it.releases - 11)) : now;
	const answer: Answer = { ok: true, publicState: "waiting" };
	if (until > now) Object.assign(answer, { publicState: "delayed", delayUntil: until });
	it.letGo("release", now, answer);
	if (until > now) it.situation = { is: "delayed", until, why: "delay" };
	else it.wait("same", now);
	it.told = ["lease_released"];
	return answer;
}

export function delay(it: ModelExecution, fence: ModelFence | undefined, ms: number, now: number): Answer {
	const refused = it.fence(fence, "delay");
	if (refused) return refused;
	if (it.cancel) return it.endCancelled("delay", now);
	const answer: Answer = { ok: true, publicState: "delayed", delayUntil: now + ms };
	it.letGo("delay", now, answer);
	it.situation = { is: "delayed", until: now + ms, why: "delay" };
	it.told = ["delayed"];
	return answer;
}

export function renew(it: ModelExecution, fence: ModelFence | undefined, ttl: number | undefined, now: number): Answer {
	const refused = it.fence(fence, "renew");
	if (refused || it.situation.is !== "active") return refused ?? it.notActive();
	const { lease } = it.situation;
	lease.ttl = ttl ?? lease.ttl;
	lease.until = now + lease.ttl;
	const holder = { namespace: "default", instanceId: "w-1" };
	if (!it.cancel) return { ok: true, expiresAt: lease.until, holder };
	const { reason } = it.cancel;
	return {
		ok: true,
		expiresAt: lease.until,
		holder,
		cancelRequested: true,
		...(reason === undefined ? undefined : { reason }),
	};
}

export function progress(
	it: ModelExecution,
	fence: ModelFence | undefined,
	given: { percent?: number; message?: string },
): Answer {
	const refused = it.fence(fence, "progress");
	if (refused) return refused;
	it.progress = { ...it.progress, ...given };
	return { ok: true, progress: it.progress };
}

export function cancel(
	it: ModelExecution,
	asked: { fence?: ModelFence; mode: "graceful" | "force"; graceMs: number; reason?: string },
	now: number,
): Answer {
	if (asked.fence) {
		const refused = it.fence(asked.fence, "cancel");
		if (refused) return refused;
	} else if (it.situation.is === "ended") {
		return it.situation.outcome === "cancelled" ? { ok: true, publicState: "cancelled" } : it.notActive();
	}
	const reason = asked.reason === undefined ? undefined : { reason: asked.reason };
	const first = it.cancel === undefined;
	it.cancel ??= { source: asked.fence ? "holder" : "operator", ...reason };
	const graceful = asked.mode === "graceful" && !asked.fence && it.situation.is === "active";
	if (!graceful) return it.endCancelled("cancel", now);
	if (first) {
		it.cancel.deadlineAt = now + asked.graceMs;
		it.told = ["cancel_requested"];
	}
	return { ok: true, publicState: "active", cancelRequested: true };
}

export function revoke(it: ModelExecution, expectedLeaseId: string | undefined, now: number): Answer {
	if (it.situation.is !== "active") return { ok: true, revoked: false, reason: "no_active_lease" };
	const { leaseId, epoch } = it.situation.lease;
	if (expectedLeaseId !== undefined && expectedLeaseId !== leaseId) return { ok: false, code: "stale_lease" };
	if (it.cancel) it.endCancelled("revoked", now);
	else {
		it.letGo("revoked", now);
		if (it.attempt) it.attempt.state = "interrupted_reclaimed";
		it.wait("reclaim", now);
		it.told = ["lease_revoked"];
	}
	return { ok: true, revoked: true, leaseId, epoch };
}

export function replay(it: ModelExecution, now: number): Answer {
	if (it.situation.is !== "ended") return { ok: false, code: "execution_not_terminal" };
	if (it.replays >= (it.policy.maxReplays ?? 10)) return { ok: false, code: "max_replays_exhausted" };
	it.replays += 1;
	it.retries = 0;
	it.reclaims = 0;
	it.failure = undefined;
	it.cancel = undefined;
	it.progress = {};
	it.deadlineFrom = now;
	it.wait("replay", now);
	it.told = ["replayed"];
	return { ok: true, publicState: "waiting", replays: it.replays };
}

export function changePriority(it: ModelExecution, priority: number): Answer {
	if (it.situation.is === "ended") return it.notActive();
	const before = it.priority;
	it.priority = priority > 9000 ? 9000 : Math.max(priority, 0);
	if (it.priority !== before) it.told = ["priority_changed"];
	return { ok: true, publicState: it.fields().publicState, priority: it.priority };
}

export function setTags(it: ModelExecution, set: Record<string, string>, remove: readonly string[]): Answer {
	const tags = new Map(it.tags);
	for (const key of remove) tags.delete(key);
	for (const [key, value] of Object.entries(set)) tags.set(key, value);
	const same = tags.size === it.tags.size && [...tags].every(([key, value]) => it.tags.get(key) === value);
	if (!same && tags.size > 64) return { ok: false, code: "too_many_tags" };
	it.tags = tags;
	if (!same) it.told = ["tags_changed"];
	return { ok: true, tags: Object.fromEntries(tags) };
}

export interface ModelTimer {
	what: "retention" | "deadline" | "queue" | "grace" | "attempt" | "lease" | "delay";
	at: number;
}

/** Every timer that runs, in no order. */
export function timers(it: ModelExecution, writableSince: number): ModelTimer[] {
	const { situation, policy } = it;
	const { attemptMs, queueMs, deadlineMs } = policy.timeouts ?? {};
	const running: ModelTimer[] = [];
	if (situation.is === "ended") {
		const kept = policy.retentionMs ?? 86_400_000;
		return kept > 0 ? [{ what: "retention", at: situation.at + kept }] : [];
	}
	if (deadlineMs !== undefined) running.push({ what: "deadline", at: it.deadlineFrom + deadlineMs });
	if (situation.is === "waiting" && queueMs !== undefined) running.push({ what: "queue", at: it.eligibleAt + queueMs });
	if (situation.is === "delayed") running.push({ what: "delay", at: situation.until });
	if (situation.is === "active") {
		const { from, until, ttl } = situation.lease;
		running.push({ what: "lease", at: Math.max(until, writableSince + Math.min(ttl / 3, 10_000)) });
		if (attemptMs !== undefined) running.push({ what: "attempt", at: from + attemptMs - it.used });
		if (it.cancel?.deadlineAt !== undefined) running.push({ what: "grace", at: it.cancel.deadlineAt });
	}
	return running;
}

/** What a timer does when its time has come. Retention is the caller's: the execution is gone. */
export function fire(it: ModelExecution, what: ModelTimer["what"], now: number): void {
	switch (what) {
		case "delay":
			it.wait(it.next, now);
			it.told = ["eligible"];
			return;
		case "deadline":
		case "queue":
			it.letGo("expiry", now);
			it.end("expired", "ended_cancelled", now);
			it.told = ["expired"];
			return;
		case "grace":
			it.endCancelled("cancel", now);
			return;
		case "attempt":
			if (it.cancel) it.endCancelled("timeout", now);
			else endAttempt(it, { reason: "", category: "timeout" }, "timeout", now);
			return;
		case "lease":
			lapse(it, now);
			return;
		case "retention":
			return;
	}
}

function lapse(it: ModelExecution, now: number): void {
	if (it.cancel) {
		it.endCancelled("expired", now);
		return;
	}
	it.letGo("expired", now);
	if (it.attempt) it.attempt.state = "interrupted_reclaimed";
	it.reclaims += 1;
	it.told = ["lease_expired"];
	if (it.reclaims <= (it.policy.maxReclaims ?? 100)) it.wait("reclaim", now);
	else {
		it.failure = { reason: "max_reclaims_exceeded", category: "max_reclaims_exceeded" };
		it.end("failed", "ended_failure", now);
		it.told.push("failed");
	}
}
