import { type Key, makeRecord } from "./record.ts";

/** What has gone from a partition's event log; each partition has its own. */
export interface EventLogRecord {
	/** Events older than this may be gone if their execution is; what is younger is all there. */
	trimmedBefore: number;
}

export const eventLogDefaults: EventLogRecord = { trimmedBefore: 0 };

export const EVENT_LOG_KEY: Key<EventLogRecord> = "log";

export const makeEventLog = (fields: Partial<EventLogRecord>): EventLogRecord => makeRecord(eventLogDefaults, fields);
