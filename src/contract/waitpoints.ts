import { TIMEOUT_BEHAVIORS, type TimeoutBehavior } from "../kernel/records/execution.ts";
import { budgetOfWaitpoint } from "../kernel/suspension/budget-waitpoint.ts";
import type { Condition } from "../kernel/suspension/condition.ts";
import { SUSPENSION_REASONS, type SuspensionReason } from "../kernel/suspension/reasons.ts";
import { FlowFabricError } from "./errors.ts";
import { base64, contentType, duration, fence, namespace, page, text, time } from "./fields.ts";
import { lookOf } from "./looks.ts";
import { described, type Static, Type } from "./schema.ts";
import { shape } from "./validate.ts";

/** Requests about suspensions, waitpoints and the signals that come to them. */

const strict = { additionalProperties: false, allowed: "must be an object" };
const fenced = { fence: Type.Optional(fence) };

export const MAX_WAITPOINTS_AT_ONCE = 64;

const reasons = Object.keys(SUSPENSION_REASONS) as SuspensionReason[];

export const waitpointKeyField = text(1, 256, "Key of the waitpoint within its execution");

export const timeoutBehavior = Type.Unsafe<TimeoutBehavior>(
	Type.Enum([...TIMEOUT_BEHAVIORS], {
		description: "What becomes of it when its timeout comes (fail)",
		allowed: `must be one of ${TIMEOUT_BEHAVIORS.join(", ")}`,
	}),
);

const condition = Type.Unsafe<Condition>(
	Type.Unknown({
		description:
			"What must come: {signal, waitpoint?}, {anySignal: true, waitpoint?}, {operatorOnly: true}, {timeoutOnly: true}, {allOf: […]}, {anyOf: […]} or {count: {n, distinctBy, match?, waitpoints?}}, nested at most 4 deep",
	}),
);

export const suspendRequest = shape(
	Type.Object(
		{
			...fenced,
			reason: Type.Unsafe<SuspensionReason>(
				Type.Enum(reasons, { description: "Why it waits", allowed: `must be one of ${reasons.join(", ")}` }),
			),
			condition,
			waitpoints: Type.Optional(
				Type.Array(
					Type.Object(
						{
							key: waitpointKeyField,
							id: Type.Optional(Type.String({ maxLength: 64, description: "Id of one that is open already" })),
						},
						{ additionalProperties: false, allowed: "must be {key} or {id, key}" },
					),
					{
						maxItems: MAX_WAITPOINTS_AT_ONCE,
						description: "Where signals arrive; the first is meant where a condition names none",
						allowed: `must be an array of at most ${MAX_WAITPOINTS_AT_ONCE} waitpoints`,
					},
				),
			),
			timeoutAt: Type.Optional(described(time, "When the wait times out, in Unix milliseconds (the policy's)")),
			timeoutMs: Type.Optional(duration(1, "How long it waits at most (the policy's)")),
			timeoutBehavior: Type.Optional(timeoutBehavior),
			resumeDelayMs: Type.Optional(duration(0, "Delay after it was resumed (0)")),
			idempotencyKey: Type.Optional(
				text(0, 512, "If a wait under this key is over, a repeat is answered at once; empty = none"),
			),
		},
		strict,
	),
);

/** What to wait for. */
export type SuspendRequest = Static<typeof suspendRequest.schema>;

export const createWaitpointRequest = shape(
	Type.Object(
		{
			...fenced,
			key: waitpointKeyField,
			expiresMs: Type.Optional(duration(1, "How long it stays open unless a suspension uses it (no limit)")),
		},
		strict,
	),
);

/** A waitpoint to open. */
export type CreateWaitpointRequest = Static<typeof createWaitpointRequest.schema>;

const payload = {
	payload: Type.Optional(Type.Unknown({ description: "What it carries, if JSON" })),
	payloadBase64: Type.Optional(described(base64, "What it carries as base64, if bytes")),
	contentType: Type.Optional(described(contentType, "Media type of the payload")),
};

const signalName = text(1, 256, "Name of the signal");

/** Ids and tokens of any form and length: what is wrong with them is told by nothing but `invalid_token`. */
const secretly = (description: string) => Type.String({ description, allowed: "must be a string" });

export const signalRequest = shape(
	Type.Object(
		{
			waitpointId: secretly("Id of the waitpoint"),
			token: secretly("Token of the waitpoint"),
			name: signalName,
			...payload,
			source: Type.Optional(
				Type.Object(
					{ type: text(1, 64, "Type of the sender"), identity: text(1, 256, "Who the sender is") },
					{ additionalProperties: false, description: "Who sends it", allowed: "must be {type, identity}" },
				),
			),
			category: Type.Optional(text(1, 64, "Free text for the receiver")),
			correlationId: Type.Optional(text(1, 256, "Free text for the receiver")),
			idempotencyKey: Type.Optional(
				text(0, 256, "A repeat within 24 hours under this key is not counted again; empty = none"),
			),
		},
		strict,
	),
);

/** A signal, and where it is to go. */
export type SignalRequest = Static<typeof signalRequest.schema>;

/** Kinds of senders that only the engine speaks for. */
const RESERVED_SOURCES = ["operator", "system"];

/** What the shape leaves to be checked. */
export function checkSource(source: SignalRequest["source"]): void {
	if (!source || !RESERVED_SOURCES.includes(lookOf(source.type))) return;
	throw new FlowFabricError("invalid_input", {
		message: `source.type: must not be ${RESERVED_SOURCES.join(" or ")}, which the engine itself says of approvals and timeouts`,
		details: { field: "source.type" },
	});
}

/** The waitpoint of a budget is the budget's own: whoever could open it would have the token by which it is raised. */
export function checkWaitpointKey(field: string, key: string): void {
	if (budgetOfWaitpoint(key) === undefined) return;
	throw new FlowFabricError("invalid_input", {
		message: `${field}: must not begin with budget:, which is for budgets that ask`,
		details: { field },
	});
}

/** What comes to a callback URL: bytes, and nothing else that is known of them. */
export interface CallbackRequest {
	/** The token of the waitpoint, as the URL has it. */
	token: string;
	/** What was posted. */
	bytes: Uint8Array;
	/** Its media type. */
	contentType?: string;
	/** The signal it is; `callback` when left out. */
	name?: string;
	/** A repeat within 24 hours under this key is not counted again. */
	idempotencyKey?: string;
}

export const callbackRequest = shape(
	Type.Object(
		{
			token: secretly("Token of the waitpoint"),
			name: Type.Optional(signalName),
			idempotencyKey: Type.Optional(text(0, 256, "A repeat within 24 hours under this key is not counted again")),
			contentType: Type.Optional(contentType),
		},
		strict,
	),
);

export const approveRequest = shape(
	Type.Object(
		{
			name: signalName,
			waitpoint: Type.Optional(
				described(waitpointKeyField, "Key of the waitpoint it is for (the one that waits for it)"),
			),
			payload: Type.Optional(Type.Unknown({ description: "What is sent along" })),
			identity: Type.Optional(text(1, 256, "Who answers (the token's name)")),
		},
		strict,
	),
);

/** An answer to what waits for somebody. */
export type ApproveRequest = Static<typeof approveRequest.schema>;

export const resumeRequest = shape(Type.Object({ reason: Type.Optional(text(0, 1024, "Why (none)")) }, strict));

/** Why suspended work is to go on. */
export type ResumeRequest = Static<typeof resumeRequest.schema>;

export const waitpointsRequest = shape(
	Type.Object(
		{
			all: Type.Optional(Type.Boolean({ description: "Closed ones too (false)", allowed: "must be true or false" })),
			...page,
		},
		strict,
	),
);

/** Which waitpoints of an execution to read. */
export type WaitpointsRequest = Static<typeof waitpointsRequest.schema>;

export const inboxRequest = shape(
	Type.Object(
		{
			namespace: Type.Optional(namespace),
			reason: Type.Optional(
				Type.Unsafe<SuspensionReason>(
					Type.Enum(reasons, {
						description: "Only what waits for this",
						allowed: `must be one of ${reasons.join(", ")}`,
					}),
				),
			),
			key: Type.Optional(described(waitpointKeyField, "Only waitpoints of this key")),
			...page,
		},
		strict,
	),
);

/** What that waits for somebody is to be read. */
export type InboxRequest = Static<typeof inboxRequest.schema>;

export const signalsRequest = shape(Type.Object(page, strict));

/** Which page of signals to read. */
export type SignalsRequest = Static<typeof signalsRequest.schema>;
