import Type, { type Static, type TEnum, type TSchema } from "typebox";
import { ERRORS, type ErrorCode } from "../kernel/errors.ts";
import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	PUBLIC_STATES,
	TERMINAL_OUTCOMES,
} from "../kernel/state.ts";
import { policy } from "./executions.ts";
import type * as replies from "./replies.ts";

/** The replies of `replies.ts` as schemas, for the docs of the HTTP API. The last lines hold both together. */

const one = <const V extends readonly string[]>(values: V): TEnum<[...V]> =>
	Type.Enum([...values]) as unknown as TEnum<[...V]>;
const count = Type.Integer({ minimum: 0 });
const at = Type.Integer({ description: "Unix milliseconds of the store's clock" });
const optional = Type.Optional;
const attemptType = one(["initial", "retry", "reclaim", "replay"]);
const attemptState = one([
	"started",
	"suspended",
	"ended_success",
	"ended_failure",
	"ended_cancelled",
	"interrupted_reclaimed",
]);
const failure = Type.Object({ reason: Type.String(), category: Type.String() });

export const publicState = one(PUBLIC_STATES);

export const errorCode = one(Object.keys(ERRORS) as ErrorCode[]);

export const error = Type.Object({
	code: errorCode,
	message: Type.String({ description: "Names the field and what was wrong" }),
	retryable: Type.Boolean({ description: "Whether the same call may succeed later" }),
	details: optional(Type.Record(Type.String(), Type.Unknown())),
});

/** The body of every refusal. */
export const errorReply = Type.Object({ error });

export const created = Type.Object({
	id: Type.String(),
	publicState,
	created: Type.Boolean({ description: "False when an idempotency key led to an earlier execution" }),
});

export const createdItem = Type.Object({
	ok: Type.Boolean(),
	id: optional(Type.String()),
	publicState: optional(publicState),
	created: optional(Type.Boolean()),
	error: optional(error),
});

const state = Type.Object({
	lifecyclePhase: one(LIFECYCLE_PHASES),
	ownershipState: one(OWNERSHIP_STATES),
	eligibilityState: one(ELIGIBILITY_STATES),
	blockingReason: one(BLOCKING_REASONS),
	terminalOutcome: one(TERMINAL_OUTCOMES),
	attemptState: one(ATTEMPT_STATES),
});

export const execution = Type.Object({
	id: Type.String(),
	kind: Type.String(),
	namespace: Type.String(),
	lane: Type.String(),
	priority: Type.Integer(),
	publicState,
	state,
	blockingDetail: Type.String({ description: "Why it is not running, for a person; empty when it is, or has ended" }),
	blockedAt: optional(at),
	delayUntil: optional(at),
	attempt: optional(Type.Object({ index: count, type: attemptType, state: attemptState })),
	lease: optional(
		Type.Object({
			id: Type.String(),
			epoch: count,
			expiresAt: at,
			workerId: Type.String(),
			instanceId: Type.String(),
		}),
	),
	retries: count,
	reclaims: count,
	replays: count,
	flowId: optional(Type.String()),
	tags: Type.Record(Type.String(), Type.String()),
	policy,
	requiredCapabilities: Type.Array(Type.String()),
	progress: optional(Type.Object({ percent: optional(Type.Number()), message: optional(Type.String()) })),
	failure: optional(failure),
	cancel: optional(
		Type.Object({
			source: one(["operator", "holder", "flow", "budget", "timeout"]),
			requestedAt: at,
			reason: optional(Type.String()),
			deadlineAt: optional(at),
		}),
	),
	createdBy: Type.String(),
	createdAt: at,
	startedAt: optional(at),
	completedAt: optional(at),
});

export const explanation = Type.Object({
	id: Type.String(),
	publicState,
	state,
	summary: Type.String({ description: "The first reason" }),
	reasons: Type.Array(Type.String(), { description: "What keeps it from running, the foremost first" }),
	lane: Type.Object({ name: Type.String(), state: one(["active", "paused", "draining"]) }),
	position: optional(
		Type.Object({
			ahead: Type.Integer({ description: "How many would be handed out before it" }),
			exact: Type.Boolean({ description: "False when counting stopped" }),
			aheadInKey: optional(count),
		}),
	),
	workers: optional(Type.Object({ live: count, able: count })),
	missingCapabilities: optional(Type.Array(Type.String())),
	examinedAt: at,
});

export const executionPage = Type.Object({
	executions: Type.Array(execution),
	nextCursor: optional(Type.String({ description: "Left out on the last page" })),
});

export const bulk = Type.Object({
	done: Type.Integer({ description: "How many it was done to, or had been already" }),
	failed: count,
	errors: Type.Array(Type.Object({ id: Type.String(), error }), { description: "The first of those that failed" }),
	nextCursor: optional(Type.String({ description: "Left out when all that matched was seen" })),
});

export const event = Type.Object(
	{
		seq: Type.Integer({ minimum: 1, description: "1, 2, 3 … within its execution" }),
		at,
		type: Type.String(),
		executionId: Type.String(),
		namespace: Type.String(),
		flowId: optional(Type.String()),
		attempt: optional(count),
		actor: Type.String({ description: "A token's name, a worker instance, or a duty of the engine" }),
	},
	{ additionalProperties: true },
);

export const eventPage = Type.Object({
	events: Type.Array(event),
	nextCursor: Type.String({ description: "Always there: reading on from it gives what happened since" }),
});

export const attempt = Type.Object({
	index: count,
	type: attemptType,
	state: attemptState,
	workerId: Type.String(),
	instanceId: Type.String(),
	startedAt: at,
	endedAt: optional(at),
	failure: optional(failure),
	result: optional(Type.Object({ contentType: Type.String(), size: count })),
});

export const claimed = Type.Object({
	id: Type.String(),
	kind: Type.String(),
	namespace: Type.String(),
	lane: Type.String(),
	input: optional(Type.Unknown({ description: "The payload when it is JSON or text" })),
	inputBase64: optional(Type.String({ description: "The payload when it is bytes" })),
	contentType: Type.String(),
	attempt: Type.Object({ index: count, type: attemptType }),
	lease: Type.Object({ id: Type.String(), epoch: count, expiresAt: at }),
	timeouts: optional(
		Type.Object({ attemptMs: optional(count), queueMs: optional(count), deadlineMs: optional(count) }),
	),
	tags: Type.Record(Type.String(), Type.String()),
	flowId: optional(Type.String()),
	traceparent: optional(Type.String()),
});

export const grant = Type.Object({ grantId: Type.String(), executionId: Type.String(), expiresAt: at });

export const renewed = Type.Object({
	executionId: Type.String(),
	ok: Type.Boolean(),
	expiresAt: optional(at),
	cancelRequested: optional(Type.Literal(true)),
	reason: optional(Type.String()),
	error: optional(error),
});

export const completedItem = Type.Object({
	executionId: Type.String(),
	ok: Type.Boolean(),
	publicState: optional(publicState),
	error: optional(error),
});

export const notice = Type.Object({
	type: one(["cancel_requested", "lease_lost"]),
	executionId: Type.String(),
	leaseId: Type.String(),
	epoch: count,
	reason: Type.String(),
});

export const worker = Type.Object({
	instanceId: Type.String(),
	workerId: Type.String(),
	namespace: Type.String(),
	capabilities: Type.Array(Type.String()),
	kinds: optional(Type.Array(Type.String(), { description: "Left out for a worker that takes any kind" })),
	lanes: Type.Array(Type.String()),
	registeredAt: at,
	lastSeenAt: at,
	expiresAt: at,
});

const nextCursor = optional(Type.String({ description: "Left out on the last page" }));

export const workerPage = Type.Object({ workers: Type.Array(worker), nextCursor });

export const laneStatus = Type.Object({
	lane: Type.String(),
	namespace: Type.String(),
	state: one(["active", "paused", "draining"]),
	agingMs: Type.Number(),
});

export const lane = Type.Object({
	lane: Type.String(),
	state: one(["active", "paused", "draining"]),
	agingMs: Type.Number(),
	depth: Type.Object(
		{
			waiting: optional(count),
			delayed: optional(count),
			rate_limited: optional(count),
			waiting_children: optional(count),
			active: optional(count),
			suspended: optional(count),
			completed: optional(count),
			failed: optional(count),
			cancelled: optional(count),
			expired: optional(count),
			skipped: optional(count),
		},
		{ description: "How many executions are in which state; states nothing is in are left out" },
	),
	oldestWaitingMs: optional(count),
	perMinute: Type.Number({ description: "Executions that ended in the last 60 seconds through this engine" }),
});

export const lanePage = Type.Object({ lanes: Type.Array(lane), nextCursor });

export const scanner = Type.Object({
	name: Type.String(),
	runs: count,
	items: count,
	errors: count,
	parked: count,
	lastRunAt: optional(at),
	lastDurationMs: optional(Type.Number()),
	lagMs: optional(Type.Number()),
});

export const scannersReply = Type.Object({
	scanners: Type.Array(scanner),
	restrictedTo: optional(
		Type.Object({
			namespaces: optional(Type.Array(Type.String())),
			tags: optional(Type.Array(Type.String({ description: "key:value" }))),
		}),
	),
});

type Same<A, B> = [A, keyof A] extends [B, keyof B] ? ([B, keyof B] extends [A, keyof A] ? true : never) : never;
type Shown<S extends TSchema> = Static<S>;

/** Fails to compile when a reply and its schema drift apart. */
const held: true[] = [
	true satisfies Same<Shown<typeof created>, replies.Created>,
	true satisfies Same<Shown<typeof createdItem>, replies.CreatedItem>,
	true satisfies Same<Shown<typeof execution>, replies.Execution>,
	true satisfies Same<Shown<typeof explanation>, replies.Explanation>,
	true satisfies Same<Shown<typeof executionPage>, replies.ExecutionPage>,
	true satisfies Same<Shown<typeof bulk>, replies.BulkReply>,
	true satisfies Same<Shown<typeof attempt>, replies.AttemptView>,
	true satisfies Same<Shown<typeof claimed>, replies.ClaimedExecution>,
	true satisfies Same<Shown<typeof grant>, replies.GrantView>,
	true satisfies Same<Shown<typeof renewed>, replies.RenewedLease>,
	true satisfies Same<Shown<typeof completedItem>, replies.CompletedItem>,
	true satisfies Same<Shown<typeof notice>, replies.WorkerNotice>,
	true satisfies Same<Shown<typeof worker>, replies.WorkerView>,
	true satisfies Same<Shown<typeof workerPage>, replies.WorkerPage>,
	true satisfies Same<Shown<typeof laneStatus>, replies.LaneStatus>,
	true satisfies Same<Shown<typeof lane>, replies.LaneView>,
	true satisfies Same<Shown<typeof lanePage>, replies.LanePage>,
	true satisfies Same<Shown<typeof scanner>, replies.ScannerView>,
	true satisfies Same<Shown<typeof scannersReply>, replies.ScannersReply>,
];
void held;
