import { BLOCKING_REASONS, type BlockingReason } from "../kernel/state.ts";
import { STATE_NAMES, type StateName } from "../kernel/state-filter.ts";
import {
	base64,
	capabilities,
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
import { policy } from "./policy.ts";
import { described, type Static, Type } from "./schema.ts";
import { tags } from "./tags.ts";
import { shape } from "./validate.ts";

/** Requests about executions, as people and programs send them. */

/** Everything a create may say but its payload. */
export const createFields = {
	kind,
	lane: Type.Optional(described(lane, "Queue the work waits in; created by first use (default)")),
	namespace: Type.Optional(namespace),
	priority: Type.Optional(described(priority, "Higher runs first; clamped to 0..9000 (0)")),
	tags: Type.Optional(described(tags, "Words to find it by: {key: value} (none)")),
	requiredCapabilities: Type.Optional(capabilities("Capabilities that a worker must offer (none)")),
	budgets: Type.Optional(guardIds("Budgets that must admit it, and that it may spend from (none)")),
	quotas: Type.Optional(guardIds("Quotas that must admit it (none)")),
	reserve: Type.Optional(
		Type.Record(amounts, {
			maxProperties: MAX_GUARDS,
			description: "What is reserved for it while it runs: {budget: {dimension: amount}} (nothing)",
			allowed: `must be an object of at most ${MAX_GUARDS} budgets`,
		}),
	),
	fairnessKey: Type.Optional(wellFormedText(1, 256, "Keys of the same priority take turns (none)")),
	delayUntil: Type.Optional(
		described(time, "Do not start before this time, in Unix milliseconds of the store's clock (now)"),
	),
	delayMs: Type.Optional(duration(0, "Do not start before this long from now (0)")),
	idempotencyKey: Type.Optional(
		text(0, 256, "Submitting again under this key gives the first execution (none, as with an empty one)"),
	),
	policy: Type.Optional(policy),
	contentType: Type.Optional(
		described(contentType, "Media type of the input (application/json; application/octet-stream for bytes)"),
	),
	createdBy: Type.Optional(text(1, 256, "Who submitted it (the caller)")),
	traceparent: Type.Optional(
		Type.String({
			pattern: "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$",
			description: "W3C trace context it continues (the active one in the library, else none)",
			allowed: "must be a W3C traceparent",
		}),
	),
};

/** What the handler is given. */
export const inputFields = {
	input: Type.Optional(Type.Unknown({ description: "What the handler is given, if JSON (nothing)" })),
	inputBase64: Type.Optional(described(base64, "What the handler is given as base64, if bytes (nothing)")),
};

export const createRequest = shape(
	Type.Object({ ...createFields, ...inputFields }, { additionalProperties: false, allowed: "must be an object" }),
);

/** What a submission says. */
export type CreateRequest = Static<typeof createRequest.schema>;

export const MAX_BATCH_ITEMS = 1000;

export const createManyRequest = shape(
	Type.Object(
		{
			items: Type.Array(Type.Unknown(), {
				maxItems: MAX_BATCH_ITEMS,
				description: "What each submission says",
				allowed: `must be an array of at most ${MAX_BATCH_ITEMS} items`,
			}),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

export const cancelMode = (description: string) =>
	Type.Union([Type.Literal("graceful"), Type.Literal("force")], {
		description,
		allowed: 'must be "graceful" or "force"',
	});

export const cancelRequest = shape(
	Type.Object(
		{
			reason: Type.Optional(text(1, 1024, "Why (none)")),
			mode: Type.Optional(cancelMode("Whether its holder is asked to stop, or it is ended at once (graceful)")),
			graceMs: Type.Optional(duration(0, "How long the holder may take (30000)")),
			fence: Type.Optional(described(fence, "The lease of the holder, if that is who cancels (none)")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** How to cancel an execution. */
export type CancelRequest = Static<typeof cancelRequest.schema>;

export const revokeLeaseRequest = shape(
	Type.Object(
		{
			expectedLeaseId: Type.Optional(text(1, 64, "Revoke only this lease (whichever it is)")),
			reason: Type.Optional(text(1, 1024, "Why (none)")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Which lease to take away, and why. */
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

/** How to run ended work again. */
export type ReplayRequest = Static<typeof replayRequest.schema>;

export const changePriorityRequest = shape(
	Type.Object({ priority }, { additionalProperties: false, allowed: "must be an object" }),
);

/** The priority an execution is to have. */
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
		{ description: "States, comma-separated, or the groups open (not ended) and ended; any when left out" },
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

/** What to list, and which page of it. */
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

/** Which events to read. */
export type EventsRequest = Static<typeof eventsRequest.schema>;

export const MAX_ATTEMPTS_READ = 1000;

export const attemptsRequest = shape(
	Type.Object(
		{
			limit: Type.Optional(integer(1, MAX_ATTEMPTS_READ, `Maximum attempts per page (${MAX_ATTEMPTS_READ})`)),
			cursor: Type.Optional(text(1, 4096, "The nextCursor of the previous page")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Which page of attempts to read. */
export type AttemptsRequest = Static<typeof attemptsRequest.schema>;

export const waitRequest = shape(
	Type.Object(
		{ timeoutMs: Type.Optional(duration(0, "How long to wait; without it until the end")) },
		{ additionalProperties: false, allowed: "must be an object" },
	),
);
