import { MAX_DELAY_MS } from "../contract/fields.ts";
import { MAX_DETAIL_BYTES, MAX_REASON } from "../contract/worker-protocol.ts";
import { cutToBytes, errorDetail, headline, isError, printed } from "./error-detail.ts";
import { RetryAfter, TerminalError } from "./errors.ts";

/** What is told of something that was thrown. */
export interface ThrownFailure {
	reason: string;
	category: string;
	retryable?: boolean;
	retryAfterMs?: number;
}

export function failureOf(error: unknown): ThrownFailure {
	const reason = reasonOf(error);
	if (error instanceof TerminalError) return { reason, category: "permanent", retryable: false };
	const { category } = (error ?? {}) as { category?: unknown };
	const named = typeof category === "string" && CATEGORY.test(category) ? category : "error";
	return { reason, category: named, ...(error instanceof RetryAfter ? waitOf(error.ms) : undefined) };
}

/** All that is to be known of what was thrown; undefined when its reason says it all. */
export function detailOf(error: unknown, reason: string): string | undefined {
	const detail = cutToBytes(errorDetail(error), MAX_DETAIL_BYTES);
	return detail === reason ? undefined : detail;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are not allowed in a category
const CATEGORY = /^[^\x00-\x1f\x7f]{1,64}$/;

/** A wait that makes no sense leaves the backoff to the policy; the attempt has failed all the same. */
function waitOf(ms: unknown): { retryable: true; retryAfterMs?: number } {
	if (typeof ms !== "number" || !(ms >= 0) || !Number.isFinite(ms)) return { retryable: true };
	return { retryable: true, retryAfterMs: Math.min(MAX_DELAY_MS, Math.round(ms)) };
}

/** Anything can be thrown, also what cannot be shown. */
function reasonOf(error: unknown): string {
	try {
		const text = isError(error) ? headline(error) : printed(error);
		return text.slice(0, MAX_REASON) || "failed without a message";
	} catch {
		return "failed with something that cannot be shown";
	}
}
