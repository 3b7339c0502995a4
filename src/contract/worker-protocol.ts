import {
	base64,
	capabilities,
	category,
	contentType,
	duration,
	executionId,
	fence,
	integer,
	kind,
	lane,
	name,
	namespace,
	text,
	time,
} from "./fields.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests of workers: claiming, and everything that carries a fence. */

const leaseMs = Type.Integer({
	minimum: 100,
	maximum: 3_600_000,
	description: "Time to live of the lease (30000)",
	allowed: "must be an integer from 100 to 3600000 milliseconds",
});

/** Longest reason of a failure: it stands in its record twice, and a record has a cap. */
export const MAX_REASON = 2048;
/** Most of what is told of a failure besides its reason: bytes of UTF-8. */
export const MAX_DETAIL_BYTES = 16 * 1024;
export const MAX_CLAIM = 256;
export const MAX_CLAIM_WAIT_MS = 30_000;

/** Who looks for work, and for which. */
const search = {
	namespace: Type.Optional(namespace),
	lanes: Type.Optional(
		Type.Array(lane, {
			minItems: 1,
			maxItems: 64,
			description: "Lanes to take work from, best first (default)",
			allowed: "must be an array of 1 to 64 lanes, best first",
		}),
	),
	kinds: Type.Optional(
		Type.Array(kind, {
			minItems: 1,
			maxItems: 256,
			description: "Kinds to take (any)",
			allowed: "must be an array of 1 to 256 kinds",
		}),
	),
	capabilities: Type.Optional(capabilities("What the worker offers (none)")),
	workerId: described(name, "Name of this kind of worker"),
	instanceId: described(name, "Name of this very process"),
	waitMs: Type.Optional(integer(0, MAX_CLAIM_WAIT_MS, "How long to wait for work (0)")),
};

/** Which try of a claim or a grant this is, counted from 1: what was never sent before need not be looked for. */
export const TRY_HEADER = "x-flowfabric-try";

export const claimRequest = shape(
	Type.Object(
		{
			...search,
			max: Type.Optional(integer(1, MAX_CLAIM, "Maximum executions to claim (1)")),
			leaseMs: Type.Optional(leaseMs),
			requestId: Type.Optional(text(1, 256, "Repeated within leaseMs, the claim gives the same leases again")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Who looks for work, and how much is to be leased. */
export type ClaimRequest = Static<typeof claimRequest.schema>;

export const grantRequest = shape(
	Type.Object(
		{
			...search,
			grantTtlMs: integer(1, 60_000, "How long the reservation holds"),
			requestId: Type.Optional(text(1, 256, "Repeated within grantTtlMs, it gives the same grant again")),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Who looks for work that is to be reserved. */
export type GrantRequest = Static<typeof grantRequest.schema>;

export const acceptGrantRequest = shape(
	Type.Object(
		{ instanceId: described(name, "Name of the process the grant is for"), leaseMs: Type.Optional(leaseMs) },
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Who accepts a grant. */
export type AcceptGrantRequest = Static<typeof acceptGrantRequest.schema>;

export const renewRequest = shape(
	Type.Object(
		{
			leases: Type.Array(
				Type.Object(
					{
						executionId,
						leaseId: Type.String({ maxLength: 64, description: "Id of the lease" }),
						epoch: Type.Integer({ description: "Epoch of the lease" }),
					},
					{ additionalProperties: false, allowed: "must be {executionId, leaseId, epoch}" },
				),
				{ maxItems: 1000, description: "The leases to renew", allowed: "must be an array of at most 1000 leases" },
			),
			leaseMs: Type.Optional(leaseMs),
		},
		{ additionalProperties: false, allowed: "must be an object" },
	),
);

/** Leases to renew, and for how long. */
export type RenewRequest = Static<typeof renewRequest.schema>;

const fenced = { fence: Type.Optional(fence) };
const payload = {
	result: Type.Optional(Type.Unknown({ description: "What came of it, if JSON (nothing)" })),
	resultBase64: Type.Optional(described(base64, "What came of it as base64, if bytes (nothing)")),
	contentType: Type.Optional(
		described(contentType, "Media type of the result (application/json; application/octet-stream for bytes)"),
	),
};
const strict = { additionalProperties: false, allowed: "must be an object" };

export const completeRequest = shape(Type.Object({ ...fenced, ...payload }, strict));

/** What came of an execution. */
export type CompleteRequest = Static<typeof completeRequest.schema>;

export const MAX_JOINT_COMPLETES = 1000;

export const completeManyRequest = shape(
	Type.Object(
		{
			items: Type.Array(Type.Unknown(), {
				maxItems: MAX_JOINT_COMPLETES,
				description: "What came of each execution",
				allowed: `must be an array of at most ${MAX_JOINT_COMPLETES} items`,
			}),
		},
		strict,
	),
);

const completedItem = Type.Object({ executionId, ...fenced, ...payload }, strict);
export const completeItem = shape(completedItem);

export const DETAIL_ALLOWED = `must be text of at most ${MAX_DETAIL_BYTES} bytes in UTF-8`;

export const failRequest = shape(
	Type.Object(
		{
			...fenced,
			reason: text(1, MAX_REASON, "What went wrong"),
			category: Type.Optional(category),
			retryable: Type.Optional(
				Type.Boolean({
					description: "false: do not retry; true: retry also without a retry policy, at most 3 times",
					allowed: "must be a boolean",
				}),
			),
			retryAfterMs: Type.Optional(duration(0, "Retry after this long instead of the policy's backoff")),
			detail: Type.Optional(
				Type.String({
					maxLength: MAX_DETAIL_BYTES,
					description: "Name, stack and causes of what was thrown, kept with the attempt",
					allowed: DETAIL_ALLOWED,
				}),
			),
		},
		strict,
	),
);

/** Why an attempt failed. */
export type FailRequest = Static<typeof failRequest.schema>;

export const delayRequest = shape(
	Type.Object(
		{
			...fenced,
			delayMs: Type.Optional(duration(0, "Continue after this long")),
			delayUntil: Type.Optional(described(time, "Continue at this time, in Unix milliseconds of the store's clock")),
		},
		strict,
	),
);

/** When an execution is to continue. */
export type DelayRequest = Static<typeof delayRequest.schema>;

export const releaseRequest = shape(Type.Object(fenced, strict));

/** Which lease is given back. */
export type ReleaseRequest = Static<typeof releaseRequest.schema>;

export const progressRequest = shape(
	Type.Object(
		{
			...fenced,
			percent: Type.Optional(
				Type.Number({
					minimum: 0,
					maximum: 100,
					description: "How far it is, from 0 to 100",
					allowed: "must be a number from 0 to 100",
				}),
			),
			message: Type.Optional(text(0, 1024, "What it is doing")),
		},
		strict,
	),
);

/** How far an execution is. */
export type ProgressRequest = Static<typeof progressRequest.schema>;
