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
export interface ExecutionEvent {
	/** 1, 2, 3 … within its execution. */
	seq: number;
	at: number;
	type: EventType;
	executionId: string;
	namespace: string;
	flowId?: string;
	attempt?: number;
	/** Who did it: a token's name, a worker instance, or a named duty of the engine. */
	actor: string;
	[detail: string]: unknown;
}

/**
 * An event as rules emit it. Its namespace is the log it goes into, its execution the owner of its history, its flow the
 * group it is read by too; only the body is written as a document, and says none of that again.
 */
export interface EmittedEvent {
	namespace: string;
	executionId: string;
	flowId?: string;
	at: number;
	body: EventBody;
}

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

export function decodeEvent({ log, owner, group, at, body }: StoredEvent): ExecutionEvent {
	const { seq, type, ...details } = JSON.parse(body) as EventBody;
	const flow = group === undefined ? undefined : { flowId: group };
	return { seq, at, type, executionId: owner, namespace: log, ...flow, ...details };
}
