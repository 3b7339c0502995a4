/** What a caller may say about retries, timeouts and keeping; every part is optional. */

export interface FixedBackoff {
	type: "fixed";
	delayMs: number;
}

export interface ExponentialBackoff {
	type: "exponential";
	initialMs?: number;
	maxMs?: number;
	multiplier?: number;
	jitter?: boolean;
}

export interface RetryPolicy {
	maxRetries?: number;
	backoff?: FixedBackoff | ExponentialBackoff;
	retryableCategories?: string[];
	nonRetryableCategories?: string[];
}

export interface Policy {
	retry?: RetryPolicy;
	timeouts?: { attemptMs?: number; queueMs?: number; deadlineMs?: number };
	maxReclaims?: number;
	maxReplays?: number;
	retentionMs?: number;
	dedupWindowMs?: number;
}

export const DEFAULT_MAX_RETRIES = 3;
export const DEFAULT_MAX_RECLAIMS = 100;
export const DEFAULT_MAX_REPLAYS = 10;
export const DEFAULT_DEDUP_WINDOW_MS = 86_400_000;

/** Never retried, whatever the policy says. */
export const PERMANENT = "permanent";

export interface FailureReport {
	reason: string;
	category: string;
	retryable?: boolean;
	retryAfterMs?: number;
}

/**
 * How long to wait before the next attempt, or undefined when there is none. `jitter` is a random number in 0..1 that
 * came with the command; a jittered backoff lies between half and the whole of the computed delay.
 */
export function retryDelay(
	policy: Policy,
	retries: number,
	failure: FailureReport,
	jitter: number,
): number | undefined {
	const { retry } = policy;
	if (!retry || retries >= (retry.maxRetries ?? DEFAULT_MAX_RETRIES)) return undefined;
	if (failure.retryable === false || failure.category === PERMANENT) return undefined;
	if (retry.nonRetryableCategories?.includes(failure.category)) return undefined;
	if (retry.retryableCategories && !retry.retryableCategories.includes(failure.category)) return undefined;
	if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
	return backoffDelay(retry.backoff ?? { type: "exponential" }, retries, jitter);
}

function backoffDelay(backoff: FixedBackoff | ExponentialBackoff, retries: number, jitter: number): number {
	if (backoff.type === "fixed") return backoff.delayMs;
	const { initialMs = 1000, maxMs = 60_000, multiplier = 2 } = backoff;
	const full = Math.min(maxMs, initialMs * multiplier ** retries);
	return Math.round(backoff.jitter === false ? full : full * (0.5 + jitter / 2));
}
