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
