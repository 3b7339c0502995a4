import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	TERMINAL_OUTCOMES,
} from "../../kernel/state.ts";
import { policy } from "../executions.ts";
import { type Static, Type } from "../schema.ts";
import { error } from "./errors.ts";
import { laneState } from "./lanes.ts";
import { at, attemptType, count, failure, nextCursor, one, publicState, tags } from "./parts.ts";

/** What is told of executions. A reply's schema is what the docs show of it, and its type is made from that. */

const optional = Type.Optional;

const attemptState = one([
	"started",
	"suspended",
	"ended_success",
	"ended_failure",
	"ended_cancelled",
	"interrupted_reclaimed",
]);

const state = Type.Object({
	lifecyclePhase: one(LIFECYCLE_PHASES),
	ownershipState: one(OWNERSHIP_STATES),
	eligibilityState: one(ELIGIBILITY_STATES),
	blockingReason: one(BLOCKING_REASONS),
	terminalOutcome: one(TERMINAL_OUTCOMES),
	attemptState: one(ATTEMPT_STATES),
});

export const created = Type.Object({
	id: Type.String(),
	publicState,
	created: Type.Boolean({ description: "False when an idempotency key led to an earlier execution" }),
});

/** What a submit came to; `created` is false when an idempotency key led to an earlier execution. */
export interface Created extends Static<typeof created> {}

export const createdItem = Type.Object({
	ok: Type.Boolean(),
	id: optional(Type.String()),
	publicState: optional(publicState),
	created: optional(Type.Boolean()),
	error: optional(error),
});

/** One of many that were submitted together: what came of it, or why it was refused. */
export interface CreatedItem extends Static<typeof createdItem> {}

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
	parentId: optional(Type.String({ description: "The execution it is a child of" })),
	tags,
	policy,
	idempotencyKey: optional(Type.String({ description: "The key it was submitted under" })),
	budgets: Type.Array(Type.String()),
	quotas: Type.Array(Type.String()),
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

/** An execution as readers see it; `blockingDetail` says for a person why it is not running. */
export interface Execution extends Static<typeof execution> {}

export const explanation = Type.Object({
	id: Type.String(),
	publicState,
	state,
	summary: Type.String({ description: "The first reason" }),
	reasons: Type.Array(Type.String(), {
		description: "What keeps it from running, the foremost first, each naming the holder",
	}),
	lane: Type.Object({ name: Type.String(), state: laneState }),
	position: optional(
		Type.Object(
			{
				ahead: Type.Integer({
					description: "How many would be handed out before it to somebody who can serve everything",
				}),
				exact: Type.Boolean({ description: "False when counting stopped" }),
				aheadInKey: optional(Type.Integer({ minimum: 0, description: "Those of its own fairness key among them" })),
			},
			{ description: "Only while it waits to be claimed" },
		),
	),
	workers: optional(
		Type.Object(
			{ live: count, able: count },
			{ description: "Workers of its namespace, and those that offer what it requires, take its kind and its lane" },
		),
	),
	missingCapabilities: optional(Type.Array(Type.String())),
	suspension: optional(
		Type.Object(
			{
				id: Type.String(),
				reason: Type.String(),
				condition: Type.Unknown(),
				waitpoints: Type.Array(Type.Object({ id: Type.String(), key: Type.String() })),
				signals: Type.Integer({ minimum: 0, description: "Signals that have come and count" }),
				since: at,
				timeoutAt: optional(at),
				timeoutBehavior: optional(Type.String()),
				escalated: optional(Type.Boolean({ description: "Its timeout has come, and an operator is to decide" })),
			},
			{ description: "Only while it is suspended" },
		),
	),
	examinedAt: at,
});

/** Why an execution does not run, worked out when it was asked. */
export interface Explanation extends Static<typeof explanation> {}

export const executionPage = Type.Object({
	executions: Type.Array(execution),
	nextCursor,
});

/** A page of a list; `nextCursor` leads to the next and is left out on the last. */
export interface ExecutionPage extends Static<typeof executionPage> {}

export const bulk = Type.Object({
	done: Type.Integer({ description: "How many it was done to, or had been already" }),
	failed: count,
	errors: Type.Array(Type.Object({ id: Type.String(), error }), {
		description: "The first of those that failed, and why",
	}),
	nextCursor: optional(Type.String({ description: "Left out when all that matched was seen" })),
});

/** What one call of a bulk action did; `nextCursor` is left out when all that matched was seen. */
export interface BulkReply extends Static<typeof bulk> {}

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

/** One run of the handler: on which worker, when, and how it ended. */
export interface AttemptView extends Static<typeof attempt> {}

/** An input or a result as it is kept. */
export interface Bytes {
	bytes: Uint8Array;
	contentType: string;
}
