import { type Key, makeRecord } from "./record.ts";

/** What has gone from the event logs of a partition; each partition has one such record. */
export interface EventLogRecord {
	/** Events older than this may be gone if their execution is; what is younger is all there. */
	trimmedBefore: number;
}

export const eventLogDefaults: EventLogRecord = { trimmedBefore: 0 };

export const EVENT_LOG_KEY: Key<EventLogRecord> = "log";

export const makeEventLog = (fields: Partial<EventLogRecord>): EventLogRecord => makeRecord(eventLogDefaults, fields);
