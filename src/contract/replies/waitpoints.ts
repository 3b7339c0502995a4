import { WAITPOINT_STATES } from "../../kernel/suspension/waitpoints.ts";
import { type Static, Type } from "../schema.ts";
import { at, count, nextCursor, one, publicState, text, texts } from "./parts.ts";

/** What is told of waitpoints and signals. */

const optional = Type.Optional;

export const signal = Type.Object({
	id: text("Id of the signal"),
	name: text("Its name"),
	waitpoint: optional(text("The key of the waitpoint it arrived at")),
	waitpointId: optional(text("The id of that waitpoint")),
	payload: optional(Type.Unknown({ description: "Its payload, if JSON or text" })),
	payloadBase64: optional(text("Its payload as base64, if bytes")),
	contentType: optional(text("Media type of the payload")),
	payloadSize: optional(
		Type.Integer({
			description: "Given instead of the payload when all payloads exceed 1 MiB together: read it separately",
		}),
	),
	source: optional(
		Type.Object(
			{ type: text("Type of the sender"), identity: text("Who the sender is") },
			{ description: "Who sent it" },
		),
	),
	category: optional(text("Free text of the sender")),
	correlationId: optional(text("Free text of the sender")),
	at: at("When it came"),
});

/** A signal as the worker it is for gets it. */
export interface SignalView extends Static<typeof signal> {}

export const signalPage = Type.Object({
	signals: Type.Array(signal, { description: "In the order they came" }),
	nextCursor,
});

/** Signals that an execution has had. */
export interface SignalPage extends Static<typeof signalPage> {}

export const openedWaitpoint = Type.Object({
	id: text("Id of the waitpoint"),
	key: text("Its name within its execution"),
	token: text("A secret: anyone who has it can send signals here"),
	callbackUrl: text("A POST to it sends a signal"),
});

/** A waitpoint and how to reach it. */
export interface OpenedWaitpoint extends Static<typeof openedWaitpoint> {}

export const suspended = Type.Object({
	status: one(
		["suspended", "already_satisfied", "cancelled"],
		"Whether it waits now; with already_satisfied the worker keeps its lease",
	),
	suspensionId: optional(text("Id of the suspension; left out when there is none")),
	waitpoints: Type.Array(openedWaitpoint, { description: "Where signals arrive" }),
	signals: optional(Type.Array(signal, { description: "With already_satisfied: the signals it waited for" })),
});

/** What became of a suspend: with `already_satisfied` the worker keeps its lease and has its signals. */
export interface SuspendReply extends Static<typeof suspended> {}

export const signalReply = Type.Object({
	status: one(["accepted", "duplicate"], "Whether it came for the first time under its key"),
	signalId: text("Id of the signal, or of the first under its key"),
	effect: one(["appended", "appended_duplicate", "ignored", "resumed", "buffered"], "What it brought about"),
});

/** What became of a signal. */
export interface SignalReply extends Static<typeof signalReply> {}

export const resumed = Type.Object({ publicState, suspensionId: text("The suspension that ended") });

/** What a resume came to. */
export interface ResumeReply extends Static<typeof resumed> {}

export const waitpoint = Type.Object({
	id: text("Id of the waitpoint"),
	key: text("Its name within its execution"),
	state: one(WAITPOINT_STATES, "Whether signals can come to it"),
	requiredSignalNames: texts("Names of the signals that are waited for here"),
	kid: text("The key that signs its token now"),
	fingerprint: text("16 hex digits by which its token can be recognised"),
	createdAt: at("When it was opened"),
	activatedAt: optional(at("When a suspension began to use it")),
	expiresAt: optional(at("When it closes unless a suspension uses it")),
});

/** A waitpoint of an execution, without its token. */
export interface WaitpointView extends Static<typeof waitpoint> {}

export const waitpointPage = Type.Object({
	waitpoints: Type.Array(waitpoint, { description: "In the order they were opened" }),
	nextCursor,
});

/** Waitpoints of an execution. */
export interface WaitpointPage extends Static<typeof waitpointPage> {}

export const waitpointToken = Type.Object({
	id: text("Id of the waitpoint"),
	key: text("Its name within its execution"),
	token: text("A secret: anyone who has it can send signals there"),
	kid: text("The key that signed it"),
	callbackUrl: text("A POST to it sends a signal"),
});

/** The token of a waitpoint. */
export interface WaitpointToken extends Static<typeof waitpointToken> {}

export const inboxItem = Type.Object({
	id: text("Id of the waitpoint"),
	key: text("Its name within its execution"),
	executionId: text("The execution that waits"),
	kind: text("Which handler runs it"),
	namespace: text("The tenant it belongs to"),
	lane: text("The queue it is of"),
	reason: text("Why it was suspended"),
	detail: text("What it waits for, for a person"),
	requiredSignalNames: texts("Names of the signals that are waited for here"),
	since: at("Since when it waits"),
	timeoutAt: optional(at("When the wait times out; left out when it does not")),
	signals: count("Signals that have arrived and count"),
});

/** Something that waits for somebody. */
export interface InboxItem extends Static<typeof inboxItem> {}

export const inboxPage = Type.Object({
	waitpoints: Type.Array(inboxItem, { description: "What waits longest first" }),
	nextCursor,
});

/** What waits for somebody. */
export interface InboxPage extends Static<typeof inboxPage> {}
