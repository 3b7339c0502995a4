import {
	ATTEMPT_STATES,
	BLOCKING_REASONS,
	ELIGIBILITY_STATES,
	LIFECYCLE_PHASES,
	OWNERSHIP_STATES,
	type PublicState,
	TERMINAL_OUTCOMES,
} from "../../kernel/state.ts";
import { policy } from "../policy.ts";
import { type Static, Type } from "../schema.ts";
import { error } from "./errors.ts";
import { laneState } from "./lanes.ts";
import {
	at,
	attemptType,
	count,
	detailedFailure,
	flag,
	nextCursor,
	one,
	publicState,
	tags,
	text,
	texts,
} from "./parts.ts";

/** What is told of executions. A reply's schema is what the docs show of it, and its type is made from that. */

const optional = Type.Optional;

const attemptState = one(
	["started", "suspended", "ended_success", "ended_failure", "ended_cancelled", "interrupted_reclaimed"],
	"How far this attempt is, or how it ended",
);

const state = Type.Object(
	{
		lifecyclePhase: one(LIFECYCLE_PHASES, "Where it is between its creation and its end"),
		ownershipState: one(OWNERSHIP_STATES, "Whether a worker holds it"),
		eligibilityState: one(ELIGIBILITY_STATES, "Whether a worker could claim it now"),
		blockingReason: one(BLOCKING_REASONS, "Why it is not running"),
		terminalOutcome: one(TERMINAL_OUTCOMES, "How it ended"),
		attemptState: one(ATTEMPT_STATES, "How its current attempt stands"),
	},
	{ description: "Its state in full, one dimension each" },
);

export const created = Type.Object({
	id: text("Id of the execution"),
	publicState,
	created: flag("False when an idempotency key led to an earlier execution"),
});

/** What a submit came to; `created` is false when an idempotency key led to an earlier execution. */
export interface Created extends Static<typeof created> {}

export const createdItem = Type.Object({
	ok: flag("Whether it was accepted"),
	id: optional(text("Id of the execution; left out when it was refused")),
	publicState: optional(publicState),
	created: optional(flag("False when an idempotency key led to an earlier execution")),
	error: optional(error),
});

/** One of many that were submitted together: what came of it, or why it was refused. */
export interface CreatedItem extends Static<typeof createdItem> {}

export const execution = Type.Object({
	id: text("Id of the execution"),
	kind: text("Which handler runs it"),
	namespace: text("The tenant it belongs to"),
	lane: text("The queue it waits in"),
	priority: Type.Integer({ description: "Higher runs first: 0 to 9000" }),
	publicState,
	state,
	blockingDetail: text("Why it is not running, for a person; empty when it is, or has ended"),
	blockedAt: optional(at("Since when it is blocked; left out when it is not")),
	delayUntil: optional(at("When it becomes eligible; left out when it is not delayed")),
	attempt: optional(
		Type.Object(
			{ index: count("Which attempt it is, from 0"), type: attemptType, state: attemptState },
			{ description: "The current or the last attempt; left out before the first claim" },
		),
	),
	lease: optional(
		Type.Object(
			{
				id: text("Id of the lease"),
				epoch: count("Grows with every lease; what an earlier holder says is refused by it"),
				expiresAt: at("When it ends unless it is renewed"),
				workerId: text("Name of the worker that holds it"),
				instanceId: text("Name of that worker's process"),
			},
			{ description: "The lease it is held under; left out when no worker holds it" },
		),
	),
	retries: count("How often it was retried after a failure"),
	reclaims: count("How often a lease was lost"),
	replays: count("How often it was replayed after its end"),
	flowId: optional(text("The flow it is a member of")),
	parentId: optional(text("The execution it is a child of")),
	tags,
	policy,
	idempotencyKey: optional(text("The key it was submitted under")),
	budgets: texts("Budgets that must admit it, and that it may spend from"),
	quotas: texts("Quotas that must admit it"),
	requiredCapabilities: texts("Capabilities that a worker must offer"),
	progress: optional(
		Type.Object(
			{
				percent: optional(Type.Number({ description: "How far it is, from 0 to 100" })),
				message: optional(text("What it is doing")),
			},
			{ description: "How far it is, as its handler told it last" },
		),
	),
	failure: optional(detailedFailure),
	cancel: optional(
		Type.Object(
			{
				source: one(["operator", "holder", "flow", "budget", "timeout"], "Who asked for it"),
				requestedAt: at("When it was asked for"),
				reason: optional(text("Why, in the words of whoever asked")),
				deadlineAt: optional(at("When it is cancelled in any case")),
			},
			{ description: "Set when a cancel was asked for" },
		),
	),
	createdBy: text("Who submitted it"),
	createdAt: at("When it was submitted"),
	startedAt: optional(at("When its first attempt began")),
	completedAt: optional(at("When it ended")),
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
	id: text("Id of the execution"),
	publicState,
	state,
	summary: text("The first reason"),
	reasons: Type.Array(Type.String(), {
		description: "What keeps it from running, most important first, each naming the holder",
	}),
	lane: Type.Object({ name: text("Its name"), state: laneState }, { description: "The lane it is in" }),
	position: optional(
		Type.Object(
			{
				ahead: Type.Integer({
					description: "How many executions a worker that can serve everything would get before it",
				}),
				exact: flag("False when counting stopped early"),
				aheadInKey: optional(count("How many of them have its fairness key")),
			},
			{ description: "Only while it waits to be claimed" },
		),
	),
	workers: optional(
		Type.Object(
			{ live: count("Live workers of its namespace"), able: count("How many of them can serve it") },
			{ description: "Live workers of its namespace, and how many of them can serve it" },
		),
	),
	missingCapabilities: optional(texts("Capabilities it requires that no live worker offers")),
	suspension: optional(
		Type.Object(
			{
				id: text("Id of the suspension"),
				reason: text("Why it was suspended"),
				condition: Type.Unknown({ description: "What it waits for" }),
				waitpoints: Type.Array(
					Type.Object({ id: text("Id of the waitpoint"), key: text("Its name within its execution") }),
					{ description: "Where signals arrive" },
				),
				signals: count("Signals that have arrived and count"),
				since: at("Since when it waits"),
				timeoutAt: optional(at("When the wait times out; left out when it does not")),
				timeoutBehavior: optional(text("What becomes of it then")),
				escalated: optional(flag("Its timeout has passed, and an operator has to decide")),
			},
			{ description: "Only while it is suspended" },
		),
	),
	failure: optional(detailedFailure),
	examinedAt: at("When this was worked out"),
});

/** Why an execution does not run, worked out when it was asked. */
export interface Explanation extends Static<typeof explanation> {}

export const executionPage = Type.Object({
	executions: Type.Array(execution, { description: "Newest first" }),
	nextCursor,
});

/** A page of a list; `nextCursor` leads to the next and is left out on the last. */
export interface ExecutionPage extends Omit<Static<typeof executionPage>, "executions"> {
	/** Newest first. */
	executions: Execution[];
}

export const bulk = Type.Object({
	done: Type.Integer({ description: "How many were changed, or had been already" }),
	failed: count("How many were refused"),
	errors: Type.Array(Type.Object({ id: text("Id of the execution"), error }), {
		description: "The first failures, with their reasons",
	}),
	nextCursor: optional(text("Where the next call begins; left out when all matches were handled")),
});

/** What one call of a bulk action did; `nextCursor` is left out when all that matched was seen. */
export interface BulkReply extends Static<typeof bulk> {}

export const attempt = Type.Object({
	index: count("Which attempt it is, from 0"),
	type: attemptType,
	state: attemptState,
	workerId: text("Name of the worker that ran it"),
	instanceId: text("Name of that worker's process"),
	startedAt: at("When it was claimed"),
	endedAt: optional(at("When it ended; left out while it runs")),
	failure: optional(detailedFailure),
	result: optional(
		Type.Object(
			{ contentType: text("Media type of the result"), size: count("Bytes of the result") },
			{ description: "What is known of its result without reading it" },
		),
	),
});

/** One run of the handler: on which worker, when, and how it ended. */
export interface AttemptView extends Static<typeof attempt> {}

export const attemptPage = Type.Object({
	attempts: Type.Array(attempt, { description: "In the order they were made" }),
	nextCursor,
});

/** Attempts in the order they were made; a page may hold fewer than asked for and still have a cursor. */
export interface AttemptPage extends Static<typeof attemptPage> {}

/** An input or a result as it is kept. */
export interface Bytes {
	/** The payload itself. */
	bytes: Uint8Array;
	/** Its media type. */
	contentType: string;
}
