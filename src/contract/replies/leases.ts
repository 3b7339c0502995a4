import { ON_HARD } from "../../kernel/records/budget.ts";
import { type Static, Type } from "../schema.ts";
import { error } from "./errors.ts";
import { at, attemptType, count, failure, one, publicState, tags } from "./parts.ts";
import { signal } from "./waitpoints.ts";

/** What workers are told about work they hold. */

const optional = Type.Optional;

const ended = {
	executionId: Type.String(),
	publicState: publicState,
	size: optional(Type.Integer({ minimum: 0, description: "Bytes of its result" })),
	result: optional(Type.Unknown({ description: "If it is JSON or text, and all results together are not too large" })),
	resultBase64: optional(Type.String({ description: "The same, if it is bytes" })),
	contentType: optional(Type.String()),
	failure: optional(failure),
};

const parent = Type.Object(ended);

/** How an upstream ended whose edge passes its result. */
export interface ParentView extends Static<typeof parent> {}

const child = Type.Object({ key: Type.String(), ...ended });

/** How a child stands that was waited for. */
export interface ChildView extends Static<typeof child> {}

export const addedChild = Type.Object({
	key: Type.String(),
	ok: Type.Boolean(),
	id: optional(Type.String()),
	publicState: optional(publicState),
	created: optional(Type.Boolean({ description: "False when its key was used before" })),
	error: optional(error),
});

/** One of the children that were submitted together: what came of it, or why it was refused. */
export interface AddedChild extends Static<typeof addedChild> {}

export const claimed = Type.Object({
	id: Type.String(),
	kind: Type.String(),
	namespace: Type.String(),
	lane: Type.String(),
	input: optional(Type.Unknown({ description: "The payload, if JSON or text" })),
	inputBase64: optional(Type.String({ description: "The payload, if bytes" })),
	contentType: Type.String(),
	attempt: Type.Object({ index: count, type: attemptType }),
	lease: Type.Object({ id: Type.String(), epoch: count, expiresAt: at }),
	stepCount: Type.Integer({ minimum: 0, description: "Number of recorded steps" }),
	timeouts: optional(
		Type.Object({ attemptMs: optional(count), queueMs: optional(count), deadlineMs: optional(count) }),
	),
	parents: optional(
		Type.Record(parent, { description: "For a member of a flow: results that its upstreams pass, by name" }),
	),
	children: optional(
		Type.Array(child, {
			description: "The children it waited for, in the order they were created, until it waits again",
		}),
	),
	signals: Type.Array(signal, { description: "The signals that ended its last suspension" }),
	tags,
	flowId: optional(Type.String()),
	traceparent: optional(Type.String()),
});

/** Work and the lease it is held under; its payload is `input`, or `inputBase64` when that is bytes. */
export interface ClaimedExecution extends Static<typeof claimed> {}

export const grant = Type.Object({ grantId: Type.String(), executionId: Type.String(), expiresAt: at });

/** Work reserved for one worker, until it accepts it or the grant lapses. */
export interface GrantView extends Static<typeof grant> {}

const action = one(ON_HARD);

const budgetBreach = Type.Object(
	{ budget: Type.String(), dimension: Type.String(), action },
	{ description: "A budget it runs under refused a report; ok is false if that ended the lease" },
);

export const renewed = Type.Object({
	executionId: Type.String(),
	ok: Type.Boolean(),
	expiresAt: optional(at),
	cancelRequested: optional(Type.Literal(true)),
	reason: optional(Type.String()),
	budgetBreach: optional(budgetBreach),
	error: optional(error),
});

/** What became of one lease that was to be renewed; `cancelRequested` asks its holder to stop. */
export interface RenewedLease extends Static<typeof renewed> {}

export const completedItem = Type.Object({
	executionId: Type.String(),
	ok: Type.Boolean(),
	publicState: optional(publicState),
	error: optional(error),
});

/** One of many that were completed together: what came of it, or why it was refused. */
export interface CompletedItem extends Static<typeof completedItem> {}

export const notice = Type.Object({
	type: one(["cancel_requested", "lease_lost", "budget_breach"]),
	executionId: Type.String(),
	leaseId: Type.String(),
	epoch: count,
	reason: Type.String(),
	budget: optional(Type.String({ description: "For a breach: the budget that refused a report" })),
	dimension: optional(Type.String()),
	action: optional(action),
});

/** Something a worker should know at once about work it holds. */
export interface WorkerNotice extends Static<typeof notice> {}
