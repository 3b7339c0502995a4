import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	type PublicState,
	TERMINAL_OUTCOMES,
} from "../../kernel/state.ts";
import { policy } from "../executions.ts";
import { type Static, Type } from "../schema.ts";
import { error } from "./errors.ts";
import { laneState } from "./lanes.ts";
import { at, attemptType, count, detailedFailure, nextCursor, one, publicState, tags } from "./parts.ts";

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
	failure: optional(detailedFailure),
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

/** An execution as the schema has it, before its state is looked at. */
export interface ExecutionFields extends Static<typeof execution> {}

type CommonFields = Omit<ExecutionFields, "publicState" | "failure" | "cancel" | "completedAt">;

/** Why an attempt failed. */
export interface Failure extends Static<typeof detailedFailure> {}

/** Who asked for a cancel, when and why. */
export type Cancel = NonNullable<ExecutionFields["cancel"]>;

/** An execution that has not ended. */
export interface OpenExecution extends CommonFields {
	/** What it does now, in a word. */
	publicState: Exclude<PublicState, EndedState>;
	/** Why its last attempt failed, if that one is to be retried. */
	failure?: Failure;
	/** Set when a cancel was asked for and has not taken effect yet. */
	cancel?: Cancel;
	/** Never there: it has not ended. */
	completedAt?: undefined;
}

/** An execution that ended with a result. */
export interface CompletedExecution extends CommonFields {
	/** It ended well. */
	publicState: "completed";
	/** Never there: it ended well. */
	failure?: undefined;
	/** A cancel that came too late. */
	cancel?: Cancel;
	/** When it ended: Unix milliseconds of the store's clock. */
	completedAt: number;
}

/** An execution that failed for good, or whose time ran out. */
export interface FailedExecution extends CommonFields {
	/** It failed for good, or its time ran out. */
	publicState: "failed" | "expired";
	/** Why. */
	failure: Failure;
	/** A cancel that had not taken effect. */
	cancel?: Cancel;
	/** When it ended: Unix milliseconds of the store's clock. */
	completedAt: number;
}

/** An execution that was cancelled. */
export interface CancelledExecution extends CommonFields {
	/** It was cancelled. */
	publicState: "cancelled";
	/** Never there: cancelled is not failed. */
	failure?: undefined;
	/** Who asked for it, when and why. */
	cancel: Cancel;
	/** When it ended: Unix milliseconds of the store's clock. */
	completedAt: number;
}

/** A member of a flow that can no longer run, because of how others ended. */
export interface SkippedExecution extends CommonFields {
	/** It can no longer run. */
	publicState: "skipped";
	/** Why an attempt failed that was made before it was skipped. */
	failure?: Failure;
	/** A cancel that had not taken effect. */
	cancel?: Cancel;
	/** When it ended: Unix milliseconds of the store's clock. */
	completedAt: number;
}

type EndedState = "completed" | "failed" | "cancelled" | "expired" | "skipped";

/**
 * An execution as readers see it; `blockingDetail` says for a person why it is not running. Checking its `publicState` tells
 * which of `failure`, `cancel` and `completedAt` are there.
 */
export type Execution = OpenExecution | CompletedExecution | FailedExecution | CancelledExecution | SkippedExecution;

export const explanation = Type.Object({
	id: Type.String(),
	publicState,
	state,
	summary: Type.String({ description: "The first reason" }),
	reasons: Type.Array(Type.String(), {
		description: "What keeps it from running, most important first, each naming the holder",
	}),
	lane: Type.Object({ name: Type.String(), state: laneState }),
	position: optional(
		Type.Object(
			{
				ahead: Type.Integer({
					description: "How many executions a worker that can serve everything would get before it",
				}),
				exact: Type.Boolean({ description: "False when counting stopped early" }),
				aheadInKey: optional(Type.Integer({ minimum: 0, description: "How many of them have its fairness key" })),
			},
			{ description: "Only while it waits to be claimed" },
		),
	),
	workers: optional(
		Type.Object(
			{ live: count, able: count },
			{ description: "Live workers of its namespace, and how many of them can serve it" },
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
				signals: Type.Integer({ minimum: 0, description: "Signals that have arrived and count" }),
				since: at,
				timeoutAt: optional(at),
				timeoutBehavior: optional(Type.String()),
				escalated: optional(Type.Boolean({ description: "Its timeout has passed, and an operator has to decide" })),
			},
			{ description: "Only while it is suspended" },
		),
	),
	failure: optional(detailedFailure),
	examinedAt: at,
});

/** Why an execution does not run, worked out when it was asked. */
export interface Explanation extends Static<typeof explanation> {}

export const executionPage = Type.Object({
	executions: Type.Array(execution),
	nextCursor,
});

/** A page of a list; `nextCursor` leads to the next and is left out on the last. */
export interface ExecutionPage extends Omit<Static<typeof executionPage>, "executions"> {
	/** Newest first. */
	executions: Execution[];
}

export const bulk = Type.Object({
	done: Type.Integer({ description: "How many were changed, or had been already" }),
	failed: count,
	errors: Type.Array(Type.Object({ id: Type.String(), error }), {
		description: "The first failures, with their reasons",
	}),
	nextCursor: optional(Type.String({ description: "Left out when all matches were handled" })),
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
	failure: optional(detailedFailure),
	result: optional(Type.Object({ contentType: Type.String(), size: count })),
});

/** One run of the handler: on which worker, when, and how it ended. */
export interface AttemptView extends Static<typeof attempt> {}

/** An input or a result as it is kept. */
export interface Bytes {
	bytes: Uint8Array;
	contentType: string;
}
