import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Policy, retryDelay } from "../../src/kernel/policy.ts";

const failure = { reason: "broken", category: "error" };
const fixed = { type: "fixed", delayMs: 250 } as const;
const jitter = fc.double({ min: 0, max: 1, noNaN: true });

describe("whether there is a retry", () => {
	it("without a policy only for who asks for it, three times", () => {
		expect(retryDelay({}, 0, failure, 0)).toBeUndefined();
		expect(retryDelay({}, 0, { ...failure, retryAfterMs: 5 }, 0)).toBeUndefined();
		expect(retryDelay({}, 2, { ...failure, retryable: true, retryAfterMs: 5 }, 0)).toBe(5);
		expect(retryDelay({}, 3, { ...failure, retryable: true }, 0)).toBeUndefined();
	});

	it("three by default, otherwise as many as maxRetries", () => {
		const retries = (retry: NonNullable<Policy["retry"]>) =>
			[0, 1, 2, 3, 4, 5].filter((done) => retryDelay({ retry }, done, failure, 0) !== undefined).length;
		expect(retries({})).toBe(3);
		expect(retries({ maxRetries: 0 })).toBe(0);
		expect(retries({ maxRetries: 5 })).toBe(5);
	});

	it("permanent and retryable false never, whatever the lists say", () => {
		const retry = { backoff: fixed, retryableCategories: ["permanent", "error"] };
		expect(retryDelay({ retry }, 0, { ...failure, category: "permanent" }, 0)).toBeUndefined();
		expect(retryDelay({ retry }, 0, { ...failure, category: "permanent", retryable: true }, 0)).toBeUndefined();
		expect(retryDelay({ retry }, 0, { ...failure, retryable: false }, 0)).toBeUndefined();
	});

	it("lists allow and forbid categories, and forbidding wins", () => {
		const delay = (retry: NonNullable<Policy["retry"]>, category: string) =>
			retryDelay({ retry: { backoff: fixed, ...retry } }, 0, { reason: "x", category }, 0);
		expect(delay({ retryableCategories: ["net"] }, "net")).toBe(250);
		expect(delay({ retryableCategories: ["net"] }, "bug")).toBeUndefined();
		expect(delay({ retryableCategories: [] }, "net")).toBeUndefined();
		expect(delay({ nonRetryableCategories: ["bug"] }, "bug")).toBeUndefined();
		expect(delay({ nonRetryableCategories: ["bug"] }, "net")).toBe(250);
		expect(delay({ retryableCategories: ["a"], nonRetryableCategories: ["a"] }, "a")).toBeUndefined();
	});
});

describe("how long a retry waits", () => {
	it("a fixed backoff knows neither count nor chance", () => {
		fc.assert(
			fc.property(fc.nat(99), jitter, (retries, chance) => {
				expect(retryDelay({ retry: { maxRetries: 100, backoff: fixed } }, retries, failure, chance)).toBe(250);
			}),
		);
	});

	it("an exponential backoff without jitter grows to its end", () => {
		const retry = { maxRetries: 10, backoff: { type: "exponential", jitter: false } } as const;
		const waits = [0, 1, 2, 5, 6, 9].map((retries) => retryDelay({ retry }, retries, failure, 0.3));
		expect(waits).toEqual([1000, 2000, 4000, 32_000, 60_000, 60_000]);
	});

	it("jitter keeps a wait between half and the whole, in whole milliseconds", () => {
		fc.assert(
			fc.property(
				fc.nat(1000),
				jitter,
				fc.integer({ min: 1, max: 1_000_000 }),
				fc.integer({ min: 1, max: 10_000_000 }),
				fc.double({ min: 1, max: 100, noNaN: true }),
				(retries, chance, initialMs, maxMs, multiplier) => {
					const backoff = { type: "exponential", initialMs, maxMs, multiplier } as const;
					const wait = retryDelay({ retry: { maxRetries: 1001, backoff } }, retries, failure, chance);
					const whole = Math.min(maxMs, initialMs * multiplier ** retries);
					expect(Number.isSafeInteger(wait)).toBe(true);
					expect(wait).toBeGreaterThanOrEqual(Math.floor(whole / 2));
					expect(wait).toBeLessThanOrEqual(Math.ceil(whole));
				},
			),
		);
	});

	it("a policy without a backoff is exponential with jitter", () => {
		expect(retryDelay({ retry: {} }, 0, failure, 0)).toBe(500);
		expect(retryDelay({ retry: {} }, 0, failure, 1)).toBe(1000);
		expect(retryDelay({ retry: {} }, 2, failure, 0)).toBe(2000);
	});

	it("retryAfterMs takes the place of the backoff, also when it is 0", () => {
		for (const retryAfterMs of [0, 1, 5_000_000]) {
			expect(retryDelay({ retry: { backoff: fixed } }, 0, { ...failure, retryAfterMs }, 0.5)).toBe(retryAfterMs);
		}
	});
});
