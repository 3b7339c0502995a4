import { ON_HARD } from "../../kernel/records/budget.ts";
import { type Static, Type } from "../schema.ts";
import { error } from "./errors.ts";
import { at, attemptType, count, failure, flag, one, publicState, tags, text } from "./parts.ts";
import { signal } from "./waitpoints.ts";

/** What workers are told about work they hold. */

const optional = Type.Optional;

const ended = {
	executionId: text("Id of the execution"),
	publicState: publicState,
	size: optional(count("Bytes of its result")),
	result: optional(
		Type.Unknown({ description: "Its result, if it is JSON or text, and all results together are not too large" }),
	),
	resultBase64: optional(text("The same as base64, if it is bytes")),
	contentType: optional(text("Media type of its result")),
	failure: optional(failure),
};

const parent = Type.Object(ended);

/** How an upstream ended whose edge passes its result. */
export interface ParentView extends Static<typeof parent> {}

const child = Type.Object({ key: text("The child's name within its parent"), ...ended });

/** How a child stands that was waited for. */
export interface ChildView extends Static<typeof child> {}

export const addedChild = Type.Object({
	key: text("The child's name within its parent"),
	ok: flag("Whether it was accepted"),
	id: optional(text("Id of its execution; left out when it was refused")),
	publicState: optional(publicState),
	created: optional(flag("False when its key was used before")),
	error: optional(error),
});

/** One of the children that were submitted together: what came of it, or why it was refused. */
export interface AddedChild extends Static<typeof addedChild> {}

export const claimed = Type.Object({
	id: text("Id of the execution"),
	kind: text("Which handler is to run it"),
	namespace: text("The tenant it belongs to"),
	lane: text("The queue it waited in"),
	input: optional(Type.Unknown({ description: "The payload, if JSON or text" })),
	inputBase64: optional(text("The payload as base64, if bytes")),
	contentType: text("Media type of the payload"),
	attempt: Type.Object(
		{ index: count("Which attempt it is, from 0"), type: attemptType },
		{ description: "The attempt that begins" },
	),
	lease: Type.Object(
		{
			id: text("Id of the lease: the fence of every later call"),
			epoch: count("Epoch of the lease: the fence of every later call"),
			expiresAt: at("When it ends unless it is renewed"),
		},
		{ description: "The lease it is held under" },
	),
	stepCount: count("Number of recorded steps"),
	timeouts: optional(
		Type.Object(
			{
				attemptMs: optional(count("Time an attempt may spend under lease")),
				queueMs: optional(count("Time it may wait for a worker each time it becomes eligible")),
				deadlineMs: optional(count("Time from its creation to its end")),
			},
			{ description: "The timeouts of its policy, in milliseconds" },
		),
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
	flowId: optional(text("The flow it is a member of")),
	traceparent: optional(text("W3C trace context it was submitted in")),
});

/** Work and the lease it is held under; its payload is `input`, or `inputBase64` when that is bytes. */
export interface ClaimedExecution extends Static<typeof claimed> {}

export const grant = Type.Object({
	grantId: text("Id of the grant"),
	executionId: text("The execution it reserves"),
	expiresAt: at("When it lapses unless it is accepted"),
});

/** Work reserved for one worker, until it accepts it or the grant lapses. */
export interface GrantView extends Static<typeof grant> {}

const action = one(ON_HARD, "What becomes of the work");

const budgetBreach = Type.Object(
	{ budget: text("The budget"), dimension: text("The dimension whose limit was exceeded"), action },
	{ description: "A budget it runs under refused a report; ok is false if that ended the lease" },
);

export const renewed = Type.Object({
	executionId: text("Id of the execution"),
	ok: flag("Whether it was renewed; if not, the lease is gone"),
	expiresAt: optional(at("When it ends unless it is renewed again")),
	cancelRequested: optional(Type.Literal(true, { description: "Its holder is asked to stop" })),
	reason: optional(text("Why it is asked to stop")),
	budgetBreach: optional(budgetBreach),
	error: optional(error),
});

/** What became of one lease that was to be renewed; `cancelRequested` asks its holder to stop. */
export interface RenewedLease extends Static<typeof renewed> {}

export const completedItem = Type.Object({
	executionId: text("Id of the execution"),
	ok: flag("Whether it was completed"),
	publicState: optional(publicState),
	error: optional(error),
});

/** One of many that were completed together: what came of it, or why it was refused. */
export interface CompletedItem extends Static<typeof completedItem> {}

export const notice = Type.Object({
	type: one(["cancel_requested", "lease_lost", "budget_breach"], "What happened"),
	executionId: text("The execution it happened to"),
	leaseId: text("The lease it is held under"),
	epoch: count("Epoch of that lease"),
	reason: text("The same for a person"),
	budget: optional(text("For a breach: the budget that refused a report")),
	dimension: optional(text("For a breach: the dimension whose limit was exceeded")),
	action: optional(action),
});

/** Something a worker should know at once about work it holds. */
export interface WorkerNotice extends Static<typeof notice> {}
