import { quoted, quotedName } from "./quoted.ts";

export type EventType =
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

/** The events after which an execution has ended. */
export const ENDINGS: ReadonlySet<EventType> = new Set(["completed", "failed", "cancelled", "expired", "skipped"]);

/** One transition, appended in the same atomic step as the change it tells of. */
export interface ExecutionEvent extends EventBody {
	at: number;
	executionId: string;
}

/** An event as rules emit it: the body is what is stored, the rest is kept beside it once for all. */
export interface EmittedEvent {
	executionId: string;
	at: number;
	body: EventBody;
}

export interface EventBody {
	/** 1, 2, 3 … within its execution. */
	seq: number;
	type: EventType;
	namespace: string;
	flowId?: string;
	attempt?: number;
	/** Who did it: a token's name, a worker instance, or a named duty of the engine. */
	actor: string;
	[detail: string]: unknown;
}

/** What JSON says of it, quicker: there are several events in every execution's life. */
export function encodeEvent(body: EventBody): string {
	const { seq, type, namespace, actor } = body;
	let text = `{"seq":${seq},"type":"${type}","namespace":${quotedName(namespace)},"actor":${quotedName(actor)}`;
	for (const name in body) {
		if (name === "seq" || name === "type" || name === "namespace" || name === "actor") continue;
		const value = body[name];
		if (typeof value === "number") text += `,"${name}":${value}`;
		else if (typeof value === "string") text += `,"${name}":${quoted(value)}`;
		else if (value !== undefined) text += `,"${name}":${JSON.stringify(value)}`;
	}
	return `${text}}`;
}

export function decodeEvent(executionId: string, at: number, stored: string): ExecutionEvent {
	const { seq, type, ...details } = JSON.parse(stored) as EventBody;
	return { seq, at, type, executionId, ...details } as ExecutionEvent;
}
