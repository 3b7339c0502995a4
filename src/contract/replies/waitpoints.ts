import { WAITPOINT_STATES } from "../../kernel/suspension/waitpoints.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor, one, publicState } from "./parts.ts";

/** What is told of waitpoints and signals. */

const optional = Type.Optional;

export const signal = Type.Object({
	id: Type.String(),
	name: Type.String(),
	waitpoint: optional(Type.String({ description: "The key of the waitpoint it arrived at" })),
	waitpointId: optional(Type.String()),
	payload: optional(Type.Unknown({ description: "Its payload, if JSON or text" })),
	payloadBase64: optional(Type.String({ description: "Its payload, if bytes" })),
	contentType: optional(Type.String()),
	payloadSize: optional(
		Type.Integer({
			description: "Given instead of the payload when all payloads exceed 1 MiB together: read it separately",
		}),
	),
	source: optional(Type.Object({ type: Type.String(), identity: Type.String() })),
	category: optional(Type.String()),
	correlationId: optional(Type.String()),
	at,
});

/** A signal as the worker it is for gets it. */
export interface SignalView extends Static<typeof signal> {}

export const signalPage = Type.Object({ signals: Type.Array(signal), nextCursor });
export interface SignalPage extends Static<typeof signalPage> {}

export const openedWaitpoint = Type.Object({
	id: Type.String(),
	key: Type.String(),
	token: Type.String({ description: "A secret: anyone who has it can send signals here" }),
	callbackUrl: Type.String({ description: "A POST to it sends a signal" }),
});

/** A waitpoint and how to reach it. */
export interface OpenedWaitpoint extends Static<typeof openedWaitpoint> {}

export const suspended = Type.Object({
	status: one(["suspended", "already_satisfied", "cancelled"]),
	suspensionId: optional(Type.String()),
	waitpoints: Type.Array(openedWaitpoint),
	signals: optional(Type.Array(signal)),
});

/** What became of a suspend: with `already_satisfied` the worker keeps its lease and has its signals. */
export interface SuspendReply extends Static<typeof suspended> {}

export const signalReply = Type.Object({
	status: one(["accepted", "duplicate"]),
	signalId: Type.String(),
	effect: one(["appended", "appended_duplicate", "ignored", "resumed", "buffered"]),
});
export interface SignalReply extends Static<typeof signalReply> {}

export const resumed = Type.Object({ publicState, suspensionId: Type.String() });
export interface ResumeReply extends Static<typeof resumed> {}

export const waitpoint = Type.Object({
	id: Type.String(),
	key: Type.String(),
	state: one(WAITPOINT_STATES),
	requiredSignalNames: Type.Array(Type.String()),
	kid: Type.String({ description: "The key that signs its token now" }),
	fingerprint: Type.String({ description: "16 hex digits by which its token can be recognised" }),
	createdAt: at,
	activatedAt: optional(at),
	expiresAt: optional(at),
});
export interface WaitpointView extends Static<typeof waitpoint> {}

export const waitpointPage = Type.Object({ waitpoints: Type.Array(waitpoint), nextCursor });
export interface WaitpointPage extends Static<typeof waitpointPage> {}

export const waitpointToken = Type.Object({
	id: Type.String(),
	key: Type.String(),
	token: Type.String(),
	kid: Type.String(),
	callbackUrl: Type.String(),
});
export interface WaitpointToken extends Static<typeof waitpointToken> {}

export const inboxItem = Type.Object({
	id: Type.String(),
	key: Type.String(),
	executionId: Type.String(),
	kind: Type.String(),
	namespace: Type.String(),
	lane: Type.String(),
	reason: Type.String(),
	detail: Type.String(),
	requiredSignalNames: Type.Array(Type.String()),
	since: at,
	timeoutAt: optional(at),
	signals: count,
});

/** Something that waits for somebody. */
export interface InboxItem extends Static<typeof inboxItem> {}

export const inboxPage = Type.Object({ waitpoints: Type.Array(inboxItem), nextCursor });
export interface InboxPage extends Static<typeof inboxPage> {}
