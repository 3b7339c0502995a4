import { category, duration, integer } from "./fields.ts";
import { Type } from "./schema.ts";
import { timeoutBehavior } from "./waitpoints.ts";

/** What a submission may say about retries, timeouts, limits and keeping. */

const categories = (description: string) =>
	Type.Array(category, { maxItems: 32, description, allowed: "must be an array of at most 32 categories" });

const backoff = Type.Union(
	[
		Type.Object(
			{
				type: Type.Literal("fixed", { description: "The same wait before each retry" }),
				delayMs: duration(0, "Wait before each retry"),
			},
			{ additionalProperties: false },
		),
		Type.Object(
			{
				type: Type.Literal("exponential", { description: "Waits that grow from retry to retry" }),
				initialMs: Type.Optional(duration(1, "Wait before the first retry (1000)")),
				maxMs: Type.Optional(duration(1, "Longest wait (60000)")),
				multiplier: Type.Optional(
					Type.Number({
						minimum: 1,
						maximum: 100,
						description: "Factor between waits (2)",
						allowed: "must be a number from 1 to 100",
					}),
				),
				jitter: Type.Optional(
					Type.Boolean({
						description: "Randomise waits between half and all of the backoff (true)",
						allowed: "must be a boolean",
					}),
				),
			},
			{ additionalProperties: false },
		),
	],
	{
		description: "How long to wait before a retry (exponential, with its defaults)",
		allowed: 'must be {type: "fixed", …} or {type: "exponential", …}',
	},
);

export const retryPolicy = Type.Object(
	{
		maxRetries: Type.Optional(integer(0, 1_000_000, "Retries after the first attempt (3)")),
		backoff: Type.Optional(backoff),
		retryableCategories: Type.Optional(categories("Only failures of these categories are retried (all)")),
		nonRetryableCategories: Type.Optional(categories("Failures of these categories are not retried (none)")),
	},
	{
		additionalProperties: false,
		description: "How failures are retried; without it nothing is retried (none)",
		allowed: "must be an object",
	},
);

export const policy = Type.Object(
	{
		retry: Type.Optional(retryPolicy),
		timeouts: Type.Optional(
			Type.Object(
				{
					attemptMs: Type.Optional(duration(1, "Time an attempt may spend under lease (no limit)")),
					queueMs: Type.Optional(duration(1, "Time it may wait for a worker each time it becomes eligible (no limit)")),
					deadlineMs: Type.Optional(duration(1, "Time from its creation to its end (no limit)")),
				},
				{ additionalProperties: false, description: "How long it may take (no limits)", allowed: "must be an object" },
			),
		),
		suspension: Type.Optional(
			Type.Object(
				{
					defaultTimeoutMs: Type.Optional(duration(1, "Timeout of suspensions that set none themselves (none)")),
					timeoutBehavior: Type.Optional(timeoutBehavior),
				},
				{
					additionalProperties: false,
					description: "What holds for suspensions that say nothing themselves (no timeout)",
					allowed: "must be an object",
				},
			),
		),
		maxReclaims: Type.Optional(integer(0, 1_000_000, "Lost leases it survives (100)")),
		maxReplays: Type.Optional(integer(0, 1_000_000, "Replays allowed (10)")),
		stream: Type.Optional(
			Type.Object(
				{ maxFrames: Type.Optional(integer(1, 1_000_000, "Durable frames kept per attempt (10000)")) },
				{ additionalProperties: false, description: "How much of its stream is kept", allowed: "must be an object" },
			),
		),
		maxSignals: Type.Optional(integer(0, 1_000_000, "Signals it accepts (10000)")),
		retentionMs: Type.Optional(
			duration(0, "How long it is kept after its end (the server's, 24 h); 0 keeps it until it is deleted"),
		),
		dedupWindowMs: Type.Optional(duration(1, "How long its idempotency key is remembered (24 h)")),
	},
	{
		additionalProperties: false,
		description: "Retries, timeouts, limits and how long it is kept (no retries, no timeouts)",
		allowed: "must be an object",
	},
);
