import { BLOCKING_REASONS, type BlockingReason } from "../kernel/state.ts";
import { STATE_NAMES, type StateName } from "../kernel/state-filter.ts";
import {
	base64,
	capabilities,
	category,
	contentType,
	duration,
	fence,
	integer,
	kind,
	lane,
	moment,
	namespace,
	priority,
	text,
	time,
	wellFormedText,
} from "./fields.ts";
import { amounts, guardIds, MAX_GUARDS } from "./guards.ts";
import { type Static, Type } from "./schema.ts";
import { tags } from "./tags.ts";
import { shape } from "./validate.ts";
import { timeoutBehavior } from "./waitpoints.ts";

/** Requests about executions, as people and programs send them. */

const categories = Type.Array(category, { maxItems: 32, allowed: "must be an array of at most 32 categories" });

const backoff = Type.Union(
	[
		Type.Object(
			{ type: Type.Literal("fixed"), delayMs: duration(0, "Wait before each retry") },
			{ additionalProperties: false },
		),
		Type.Object(
			{
				type: Type.Literal("exponential"),
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
	{ allowed: 'must be {type: "fixed", …} or {type: "exponential", …}' },
);

export const retryPolicy = Type.Object(
	{
		maxRetries: Type.Optional(integer(0, 1_000_000, "Retries after the first attempt (3)")),
		backoff: Type.Optional(backoff),
		retryableCategories: Type.Optional(categories),
		nonRetryableCategories: Type.Optional(categories),
	},
	{ additionalProperties: false, description: "Without it nothing is retried", allowed: "must be an object" },
);

export const policy = Type.Object(
	{
		retry: Type.Optional(retryPolicy),
		timeouts: Type.Optional(
			Type.Object(
				{
					attemptMs: Type.Optional(duration(1, "Time an attempt may spend under lease")),
					queueMs: Type.Optional(duration(1, "Time it may wait for a worker each time it becomes eligible")),
					deadlineMs: Type.Optional(duration(1, "Time from its creation to its end")),
				},
				{ additionalProperties: false, allowed: "must be an object" },
			),
		),
		suspension: Type.Optional(
			Type.Object(
				{
					defaultTimeoutMs: Type.Optional(duration(1, "Timeout of suspensions that set none themselves (none)")),
					timeoutBehavior: Type.Optional(timeoutBehavior),
				},
				{ additionalProperties: false, allowed: "must be an object" },
			),
		),
		maxReclaims: Type.Optional(integer(0, 1_000_000, "Lost leases it survives (100)")),
		maxReplays: Type.Optional(integer(0, 1_000_000, "Replays allowed (10)")),
		stream: Type.Optional(
			Type.Object(
				{ maxFrames: Type.Optional(integer(1, 1_000_000, "Durable frames kept per attempt (10000)")) },
				{ additionalProperties: false, allowed: "must be an object" },
			),
		),
		maxSignals: Type.Optional(integer(0, 1_000_000, "Signals it accepts (10000)")),
		retentionMs: Type.Optional(duration(0, "How long it is kept after its end; 0 keeps it until it is deleted")),
		dedupWindowMs: Type.Optional(duration(1, "How long its idempotency key is remembered (24 h)")),
	},
	{ additionalProperties: false, allowed: "must be an object" },
);

/** Everything a create may say but its payload. */
export const createFields = {
	kind,
	lane: Type.Optional(lane),
	namespace: Type.Optional(namespace),
	priority: Type.Optional(priority),
	tags: Type.Optional(tags),
	requiredCapabilities: Type.Optional(capabilities("Capabilities that a worker must offer")),
	budgets: Type.Optional(guardIds("Budgets that must admit it, and that it may spend from")),
	quotas: Type.Optional(guardIds("Quotas that must admit it")),
	reserve: Type.Optional(
		Type.Record(amounts, {
			maxProperties: MAX_GUARDS,
			description: "What is reserved for it while it runs: {budget: {dimension: amount}}",
			allowed: `must be an object of at most ${MAX_GUARDS} budgets`,
		}),
	),
	fairnessKey: Type.Optional(wellFormedText(1, 256, "Keys of the same priority take turns")),
	delayUntil: Type.Optional(time),
	delayMs: Type.Optional(duration(0, "Do not start before this long from now")),
	idempotencyKey: Type.Optional(
		text(0, 256, "Submitting again under this key gives the first execution; empty = none"),
	),
	policy: Type.Optional(policy),
	contentType: Type.Optional(contentType),
	createdBy: Type.Optional(text(1, 256, "Who submitted it")),
	traceparent: Type.Optional(
		Type.String({
			pattern: "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
			description: "W3C trace context",
			allowed: "must be a W3C traceparent",
		}),
	),
};

export const createRequest = shape(
	Type.Object(
		{ ...createFields, input: Type.Optional(Type.Unknown()), inputBase64: Type.Optional(base64) },
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type CreateRequest = Static<typeof createRequest.schema>;

export const MAX_BATCH_ITEMS = 1000;

export const createManyRequest = shape(
	Type.Object(
		{
			items: Type.Array(Type.Unknown(), {
				maxItems: MAX_BATCH_ITEMS,
				allowed: `must be an array of at most ${MAX_BATCH_ITEMS} items`,
			}),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

export const cancelRequest = shape(
	Type.Object(
		{
			reason: Type.Optional(text(1, 1024, "Why")),
			mode: Type.Optional(
				Type.Union([Type.Literal("graceful"), Type.Literal("force")], { allowed: 'must be "graceful" or "force"' }),
			),
			graceMs: Type.Optional(duration(0, "How long the holder may take (30000)")),
			fence: Type.Optional(fence),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type CancelRequest = Static<typeof cancelRequest.schema>;

export const revokeLeaseRequest = shape(
	Type.Object(
		{
			expectedLeaseId: Type.Optional(text(1, 64, "Revoke only this lease")),
			reason: Type.Optional(text(1, 1024, "Why")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type RevokeLeaseRequest = Static<typeof revokeLeaseRequest.schema>;

export const replayRequest = shape(
	Type.Object(
		{
			keepSteps: Type.Optional(
				Type.Boolean({
					description: "Keep recorded steps, so that it continues where it stopped (false)",
					allowed: "must be a boolean",
				}),
			),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type ReplayRequest = Static<typeof replayRequest.schema>;

export const changePriorityRequest = shape(
	Type.Object({ priority }, { additionalProperties: false, allowed: "must be an object" }),
);
export type ChangePriorityRequest = Static<typeof changePriorityRequest.schema>;

const anyState = STATE_NAMES.join("|");

/** In a query all is text: several states are told apart by commas there. */
const states = Type.Unsafe<StateName | readonly StateName[]>(
	Type.Union(
		[
			Type.String({
				pattern: `^(${anyState})(,(${anyState}))*$`,
				allowed: `must be one or more, comma-separated, of ${STATE_NAMES.join(", ")}`,
			}),
			Type.Array(Type.Enum([...STATE_NAMES], { allowed: `must be one of ${STATE_NAMES.join(", ")}` }), {
				minItems: 1,
				maxItems: 100,
				allowed: `must be 1 to 100 of ${STATE_NAMES.join(", ")}`,
			}),
		],
		{ description: "States, comma-separated, or the groups open (not ended) and ended" },
	),
);

/** What a list can be narrowed by; all that is given must hold. */
export const filterFields = {
	namespace: Type.Optional(namespace),
	lane: Type.Optional(lane),
	state: Type.Optional(states),
	reason: Type.Optional(
		Type.Unsafe<BlockingReason>(
			Type.Enum([...BLOCKING_REASONS], {
				description: "Why it is not running: the blockingReason of reads",
				allowed: `must be one of ${BLOCKING_REASONS.join(", ")}`,
			}),
		),
	),
	kind: Type.Optional(kind),
	flowId: Type.Optional(text(1, 64, "The flow it is a member of")),
	parentId: Type.Optional(text(1, 64, "The execution it is a child of")),
	idempotencyKey: Type.Optional(
		text(
			1,
			256,
			"What submitting under this key leads to now: one execution, or none once the window of its key is over",
		),
	),
	tag: Type.Optional(
		Type.String({
			pattern: "^[a-z][a-z0-9_]*(\\.[a-z0-9_]+)*:",
			maxLength: 513,
			description: "A tag, as key:value",
			allowed: "must be <key>:<value>",
		}),
	),
	createdAfter: Type.Optional(moment("Created at this time or later")),
	createdBefore: Type.Optional(moment("Created before this time")),
};

export const listRequest = shape(
	Type.Object(
		{
			...filterFields,
			limit: Type.Optional(integer(1, 1000, "Maximum executions per page (100)")),
			cursor: Type.Optional(text(1, 4096, "The nextCursor of the previous page")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type ListRequest = Static<typeof listRequest.schema>;

/** Longest wait of one call over HTTP. */
export const MAX_POLL_MS = 30_000;

export const eventsRequest = shape(
	Type.Object(
		{
			limit: Type.Optional(integer(1, 1000, "Maximum events per page (100)")),
			cursor: Type.Optional(text(1, 4096, "The nextCursor of the previous page")),
			waitMs: Type.Optional(integer(0, MAX_POLL_MS, "How long to wait for the next event when there is none (0)")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
export type EventsRequest = Static<typeof eventsRequest.schema>;

export const waitRequest = shape(
	Type.Object(
		{ timeoutMs: Type.Optional(duration(0, "How long to wait; without it until the end")) },
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
