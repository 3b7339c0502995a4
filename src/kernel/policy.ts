import type { TimeoutBehavior } from "./records/execution.ts";
import { flag, list, number, part, text } from "./shape.ts";
import { DEFAULT_MAX_FRAMES } from "./streams/keeping.ts";

/** How long a cancel waits for the holder, unless it says otherwise. */
export const DEFAULT_GRACE_MS = 30_000;

/** The same wait before each retry. */
export interface FixedBackoff {
	/** The same wait before each retry. */
	type: "fixed";
	/** Milliseconds to wait before each retry. */
	delayMs: number;
}

/** Waits that grow from retry to retry. */
export interface ExponentialBackoff {
	/** Waits that grow from retry to retry. */
	type: "exponential";
	/** Milliseconds to wait before the first retry (1000). */
	initialMs?: number;
	/** Longest wait in milliseconds (60000). */
	maxMs?: number;
	/** Factor between waits (2). */
	multiplier?: number;
	/** Randomise waits between half and all of the backoff (true). */
	jitter?: boolean;
}

/** How failures are retried. */
export interface RetryPolicy {
	/** Retries after the first attempt (3). */
	maxRetries?: number;
	/** How long to wait before a retry (exponential, with its defaults). */
	backoff?: FixedBackoff | ExponentialBackoff;
	/** Only failures of these categories are retried (all). */
	retryableCategories?: string[];
	/** Failures of these categories are not retried (none). */
	nonRetryableCategories?: string[];
}

/** What a caller may say about retries, timeouts and keeping; every part is optional. */
export interface Policy {
	/** How failures are retried; without it nothing is retried (none). */
	retry?: RetryPolicy;
	/** How long it may take, in milliseconds (no limits). */
	timeouts?: {
		/** Time an attempt may spend under lease (no limit). */
		attemptMs?: number;
		/** Time it may wait for a worker each time it becomes eligible (no limit). */
		queueMs?: number;
		/** Time from its creation to its end (no limit). */
		deadlineMs?: number;
	};
	/** What holds for suspensions that say nothing themselves (no timeout). */
	suspension?: {
		/** Timeout of suspensions that set none themselves, in milliseconds (none). */
		defaultTimeoutMs?: number;
		/** What becomes of it when its timeout comes (fail). */
		timeoutBehavior?: TimeoutBehavior;
	};
	/** Lost leases it survives (100). */
	maxReclaims?: number;
	/** Replays allowed (10). */
	maxReplays?: number;
	/** Signals it accepts (10000). */
	maxSignals?: number;
	/** How much of its stream is kept. */
	stream?: {
		/** Durable frames kept per attempt (10000). */
		maxFrames?: number;
	};
	/** Milliseconds it is kept after its end (the server's, 24 h); 0 keeps it until it is deleted. */
	retentionMs?: number;
	/** Milliseconds its idempotency key is remembered (24 h). */
	dedupWindowMs?: number;
}

const backoffShape = part(
	{ type: text },
	{ delayMs: number, initialMs: number, maxMs: number, multiplier: number, jitter: flag },
);

export const policyShape = part(
	{},
	{
		retry: part(
			{},
			{
				maxRetries: number,
				backoff: backoffShape,
				retryableCategories: list(text),
				nonRetryableCategories: list(text),
			},
		),
		timeouts: part({}, { attemptMs: number, queueMs: number, deadlineMs: number }),
		suspension: part({}, { defaultTimeoutMs: number, timeoutBehavior: text }),
		stream: part({}, { maxFrames: number }),
		maxReclaims: number,
		maxReplays: number,
		maxSignals: number,
		retentionMs: number,
		dedupWindowMs: number,
	},
);

export const DEFAULT_MAX_RETRIES = 3;
export const DEFAULT_MAX_RECLAIMS = 100;
export const DEFAULT_MAX_REPLAYS = 10;
export const DEFAULT_MAX_SIGNALS = 10_000;
export const DEFAULT_DEDUP_WINDOW_MS = 86_400_000;
const DEFAULT_BACKOFF = { type: "exponential", initialMs: 1000, maxMs: 60_000, multiplier: 2, jitter: true } as const;

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
	// Whoever asks for another try is given some, although nobody thought of a policy.
	const retry = policy.retry ?? (failure.retryable === true ? {} : undefined);
	if (!retry || retries >= (retry.maxRetries ?? DEFAULT_MAX_RETRIES)) return undefined;
	if (failure.retryable === false || failure.category === PERMANENT) return undefined;
	if (retry.nonRetryableCategories?.includes(failure.category)) return undefined;
	if (retry.retryableCategories && !retry.retryableCategories.includes(failure.category)) return undefined;
	if (failure.retryAfterMs !== undefined) return failure.retryAfterMs;
	return backoffDelay(retry.backoff ?? DEFAULT_BACKOFF, retries, jitter);
}

function backoffDelay(backoff: FixedBackoff | ExponentialBackoff, retries: number, jitter: number): number {
	if (backoff.type === "fixed") return backoff.delayMs;
	const { initialMs, maxMs, multiplier, jitter: isJittered } = { ...DEFAULT_BACKOFF, ...backoff };
	const full = Math.min(maxMs, initialMs * multiplier ** retries);
	return Math.round(isJittered ? full * (0.5 + jitter / 2) : full);
}

/** What a policy says that it would not mean anyway; undefined when that is nothing. */
export function policyWithoutDefaults({ retry, timeouts, suspension, stream, ...rest }: Policy): Policy | undefined {
	const said: Policy = without(rest, {
		maxReclaims: DEFAULT_MAX_RECLAIMS,
		maxReplays: DEFAULT_MAX_REPLAYS,
		maxSignals: DEFAULT_MAX_SIGNALS,
		dedupWindowMs: DEFAULT_DEDUP_WINDOW_MS,
	});
	// That there is one says something, even if it is empty: without it only those who ask for it are given another try.
	if (retry) said.retry = retryWithoutDefaults(retry);
	if (timeouts && !isEmpty(timeouts)) said.timeouts = timeouts;
	const paused = suspension && without(suspension, { timeoutBehavior: "fail" });
	if (paused && !isEmpty(paused)) said.suspension = paused;
	const streamed = stream && without(stream, { maxFrames: DEFAULT_MAX_FRAMES });
	if (streamed && !isEmpty(streamed)) said.stream = streamed;
	return isEmpty(said) ? undefined : said;
}

/** An empty list of what is retried says that nothing is, one of what is not retried says nothing. */
function retryWithoutDefaults({ backoff, nonRetryableCategories, ...rest }: RetryPolicy): RetryPolicy {
	const said: RetryPolicy = without(rest, { maxRetries: DEFAULT_MAX_RETRIES });
	if (nonRetryableCategories && nonRetryableCategories.length > 0) said.nonRetryableCategories = nonRetryableCategories;
	if (backoff?.type === "fixed") said.backoff = backoff;
	else if (backoff) {
		const changed = without(backoff, DEFAULT_BACKOFF);
		if (!isEmpty(changed)) said.backoff = { ...changed, type: backoff.type };
	}
	return said;
}

function without<T extends object>(given: T, defaults: Partial<T>): Partial<T> {
	const left: Partial<T> = {};
	for (const name in given) if (given[name] !== defaults[name]) left[name] = given[name];
	return left;
}

export function isEmpty(value: object): boolean {
	for (const _ in value) return false;
	return true;
}
