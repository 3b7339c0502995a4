import type { GuardKind, GuardName } from "./guard.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * Something a budget or quota in another partition is to be told of an execution: that what it gave comes back, as used
 * or as never used, that the execution is gone, or that it was passed by: room that was made for it is there for others. It
 * is left in the same commit as what it tells of, sent, and removed.
 */
export interface OutboxRecord {
	kind: GuardKind;
	namespace: string;
	id: string;
	executionId: string;
	holdId: string;
	message: "used" | "unused" | "removed" | "passed";
	/** When it is sent, if whoever left it has not done so. */
	sendAt: number;
}

export const outboxDefaults: OutboxRecord = {
	kind: "quota",
	namespace: "default",
	id: "",
	executionId: "",
	holdId: "",
	message: "used",
	sendAt: 0,
};

export const OUTBOX_PREFIX = "outbox:";

/** The id of an execution or of a hold says where the message lives; neither holds a comma. */
export const outboxKey = ({ kind, namespace, id }: GuardName, subject: string): Key<OutboxRecord> =>
	`${OUTBOX_PREFIX}${subject},${kind},${namespace},${id}`;

export const makeOutbox = (fields: Partial<OutboxRecord>): OutboxRecord => makeRecord(outboxDefaults, fields);
