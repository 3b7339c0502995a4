import { quoted, quotedName } from "./quoted.ts";

export type ExecutionEventType =
	| "created"
	| "eligible"
	| "blocked"
	| "unblocked"
	| "granted"
	| "grant_lapsed"
	| "claimed"
	| "lease_expired"
	| "lease_revoked"
	| "lease_released"
	| "retry_scheduled"
	| "delayed"
	| "suspended"
	| "signalled"
	| "resumed"
	| "priority_changed"
	| "tags_changed"
	| "cancel_requested"
	| "completed"
	| "failed"
	| "cancelled"
	| "expired"
	| "skipped"
	| "replayed"
	| "deleted";

/** What is told of a flow as a whole. */
export type FlowEventType =
	| "flow_created"
	| "member_added"
	| "edge_added"
	| "sealed"
	| "edge_resolved"
	| "flow_cancel_requested"
	| "flow_ended"
	| "flow_reopened"
	| "deleted";

export type EventType = ExecutionEventType | FlowEventType;

/** The events after which an execution has ended. */
export const ENDINGS: ReadonlySet<EventType> = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

interface EventFields {
	at: number;
	namespace: string;
	/** Who did it: a token's name, a worker instance, or a named duty of the engine. */
	actor: string;
	[detail: string]: unknown;
}

/** One transition, appended in the same atomic step as the change it tells of. */
export interface ExecutionEvent extends EventFields {
	/** 1, 2, 3 … within its execution. */
	seq: number;
	type: ExecutionEventType;
	executionId: string;
	/** The flow it is a member of. */
	flowId?: string;
	attempt?: number;
}

/** A change of a flow as a whole. */
export interface FlowEvent extends EventFields {
	/** 1, 2, 3 … among what is told of its flow as a whole. */
	seq: number;
	type: FlowEventType;
	executionId?: undefined;
	flowId: string;
}

export type AnyEvent = ExecutionEvent | FlowEvent;

/**
 * An event as rules emit it. Its namespace is the log it goes into, its execution the owner of its history, its flow the
 * group it is read by too, or the owner of what is told of it as a whole; only the body is written as a document, and says
 * none of that again.
 */
export type EmittedEvent = { namespace: string; at: number; body: EventBody } & (
	| { executionId: string; flowId?: string }
	| { executionId?: never; flowId: string }
);

export interface EventBody {
	seq: number;
	type: EventType;
	attempt?: number;
	actor: string;
	[detail: string]: unknown;
}

/** What JSON says of it, quicker: there are several events in every execution's life. */
export function encodeEvent(body: EventBody): string {
	const { seq, type, actor } = body;
	let text = `{"seq":${seq},"type":"${type}","actor":${quotedName(actor)}`;
	for (const name in body) {
		if (name === "seq" || name === "type" || name === "actor") continue;
		const value = body[name];
		if (typeof value === "number") text += `,"${name}":${value}`;
		else if (typeof value === "string") text += `,"${name}":${quoted(value)}`;
		else if (value !== undefined) text += `,"${name}":${JSON.stringify(value)}`;
	}
	return `${text}}`;
}

/** An event as a store gives it back. */
export interface StoredEvent {
	log: string;
	owner: string;
	group?: string;
	at: number;
	body: string;
}

export function decodeEvent({ log, owner, group, at, body }: StoredEvent): AnyEvent {
	const { seq, type, ...details } = JSON.parse(body) as EventBody;
	if (owner.startsWith("fl_"))
		return { seq, at, type: type as FlowEventType, namespace: log, flowId: owner, ...details };
	const flow = group === undefined ? undefined : { flowId: group };
	return { seq, at, type: type as ExecutionEventType, executionId: owner, namespace: log, ...flow, ...details };
}
