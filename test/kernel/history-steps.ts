import fc from "fast-check";
import type { Policy } from "../../src/kernel/policy.ts";

/** Durations that add up to the same moment hardly ever: which of two timers comes first is then never a matter of taste. */
export const policies: Policy[] = [
	{},
	{ retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 501 } }, maxReclaims: 1 },
	{ retry: { maxRetries: 2, backoff: { type: "exponential", jitter: false, maxMs: 1507 } }, maxReplays: 1 },
	{ retry: { retryableCategories: ["net"], backoff: { type: "fixed", delayMs: 0 } }, retentionMs: 0 },
	{ retry: { nonRetryableCategories: ["net"], backoff: { type: "fixed", delayMs: 97 } }, maxReclaims: 0 },
	{ timeouts: { attemptMs: 2503 }, retry: { maxRetries: 1, backoff: { type: "fixed", delayMs: 0 } } },
	{ timeouts: { queueMs: 1709 }, retentionMs: 40_009 },
	{ timeouts: { attemptMs: 5003, queueMs: 3001, deadlineMs: 12_007 }, retry: {} },
	{ timeouts: { deadlineMs: 9001 }, maxReplays: 0 },
];

/** One fewer than an execution may have. */
const manyTags = Object.fromEntries(Array.from({ length: 63 }, (_, n) => [`t${n}`, String(n)]));

export type Shown = "current" | "last" | "older" | "foreign" | "wrong epoch" | "none";

const which = fc.nat(3);
const shown = fc.constantFrom<Shown[]>(
	"current",
	"current",
	"current",
	"current",
	"current",
	"last",
	"older",
	"foreign",
	"wrong epoch",
	"none",
);
const reason = fc.option(fc.constantFrom("why not", "enough"), { nil: undefined });
const some = <T extends string>(what: T) => fc.constant(what);

/** One thing that happens; `which` picks among the executions made so far. */
export const step = fc.oneof(
	{ weight: 10, arbitrary: fc.record({ do: some("advance"), ms: fc.constantFrom(1, 89, 499, 1301, 4003) }) },
	{
		weight: 60,
		arbitrary: fc.record({ do: some("pass"), ms: fc.constantFrom(97, 509, 1307, 1307, 4001, 4001, 41_017) }),
	},
	{
		weight: 30,
		arbitrary: fc.record({
			do: some("create"),
			policy: fc.nat(policies.length - 1),
			priority: fc.constantFrom(-1, 0, 0, 5, 10_000),
			delayMs: fc.constantFrom(0, 0, 0, 907),
			tags: fc.constantFrom<Record<string, string>[]>({}, {}, {}, {}, {}, {}, { team: "red" }, manyTags),
		}),
	},
	{
		weight: 80,
		arbitrary: fc.record({
			do: some("claim"),
			max: fc.constantFrom(1, 2, 4),
			ttl: fc.constantFrom(1009, 3019, 60_013),
		}),
	},
	{ weight: 20, arbitrary: fc.record({ do: some("tick"), which }) },
	{ weight: 20, arbitrary: fc.record({ do: some("complete"), which, shown }) },
	{
		weight: 30,
		arbitrary: fc.record({
			do: some("fail"),
			which,
			shown,
			category: fc.constantFrom("net", "bug", "permanent"),
			retryable: fc.constantFrom(undefined, undefined, true, false),
			retryAfterMs: fc.constantFrom(undefined, undefined, 0, 733),
		}),
	},
	{ weight: 20, arbitrary: fc.record({ do: some("delay"), which, shown, ms: fc.constantFrom(0, 607) }) },
	{ weight: 20, arbitrary: fc.record({ do: some("release"), which, shown }) },
	{ weight: 20, arbitrary: fc.record({ do: some("renew"), which, shown, ttl: fc.constantFrom(undefined, 2017) }) },
	{
		weight: 20,
		arbitrary: fc.record({ do: some("progress"), which, shown, percent: fc.option(fc.nat(100), { nil: undefined }) }),
	},
	{
		weight: 20,
		arbitrary: fc.record({
			do: some("cancel"),
			which,
			shown: fc.constantFrom<Shown[]>("none", "none", "none", "current", "current", "foreign"),
			mode: fc.constantFrom("graceful" as const, "graceful" as const, "graceful" as const, "force" as const),
			graceMs: fc.constantFrom(0, 1103, 30_000),
			reason,
		}),
	},
	{
		weight: 10,
		arbitrary: fc.record({
			do: some("revokeLease"),
			which,
			shown: fc.constantFrom<Shown[]>("none", "current", "foreign"),
		}),
	},
	{
		weight: 20,
		arbitrary: fc.record({ do: some("changePriority"), which, priority: fc.constantFrom(-5, 0, 5, 7, 10_000) }),
	},
	{
		weight: 20,
		arbitrary: fc.record({
			do: some("setTags"),
			which,
			set: fc.constantFrom<Record<string, string>[]>(
				{},
				{ team: "red" },
				{ team: "blue", "a.b_1": "" },
				{ one: "more" },
			),
			remove: fc.constantFrom<string[][]>([], [], ["one"], ["constructor", "a.b_1", "a.b_1"]),
		}),
	},
	{ weight: 10, arbitrary: fc.record({ do: some("intrude"), which, shown }) },
	{ weight: 20, arbitrary: fc.record({ do: some("replay"), which }) },
	{ weight: 3, arbitrary: fc.record({ do: some("delete"), which }) },
	{ weight: 3, arbitrary: fc.record({ do: some("outage") }) },
);

export type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
