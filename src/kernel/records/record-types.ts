import { slotOf, trustedSlot } from "../ids.ts";
import { attemptDefaults } from "./attempt.ts";
import { CLAIM_REQUEST_PREFIX, claimRequestDefaults } from "./claim-request.ts";
import { ENGINES_KEY, ENGINES_SLOT, enginesDefaults } from "./engines.ts";
import { EVENT_LOG_KEY, eventLogDefaults } from "./event-log.ts";
import { type ExecutionRecord, executionDefaults } from "./execution.ts";
import { decodeExecution, encodeExecution } from "./execution-text.ts";
import { grantDefaults } from "./grant.ts";
import { IDEMPOTENCY_KEY_PREFIX, idempotencyKeyDefaults } from "./idempotency-key.ts";
import { LANE_HOME_PREFIX, laneDefaults, laneHomeDefaults, slotOfLaneHomeKey } from "./lane.ts";
import { decodeRecord, encodeRecord } from "./record.ts";
import { TICKET_PREFIX, ticketDefaults } from "./ticket.ts";
import { slotOfWorkerKey, WORKER_PREFIX, workerDefaults } from "./worker.ts";

export type RecordType =
	| "execution"
	| "attempt"
	| "idempotencyKey"
	| "lane"
	| "laneHome"
	| "claimRequest"
	| "worker"
	| "ticket"
	| "grant"
	| "eventLog"
	| "engines";

export const defaultsOf: Record<RecordType, object> = {
	execution: executionDefaults,
	attempt: attemptDefaults,
	idempotencyKey: idempotencyKeyDefaults,
	lane: laneDefaults,
	laneHome: laneHomeDefaults,
	claimRequest: claimRequestDefaults,
	worker: workerDefaults,
	ticket: ticketDefaults,
	grant: grantDefaults,
	eventLog: eventLogDefaults,
	engines: enginesDefaults,
};

/** A key tells what kind of record it names; undefined for keys of a later version. */
export function recordTypeOf(key: string): RecordType | undefined {
	if (key.startsWith("ex_")) return key.includes("/") ? "attempt" : "execution";
	if (key.startsWith(IDEMPOTENCY_KEY_PREFIX)) return "idempotencyKey";
	if (key.startsWith("lane:")) return "lane";
	if (key.startsWith(LANE_HOME_PREFIX)) return "laneHome";
	if (key.startsWith(CLAIM_REQUEST_PREFIX)) return "claimRequest";
	if (key.startsWith(WORKER_PREFIX)) return "worker";
	if (key.startsWith(TICKET_PREFIX)) return "ticket";
	if (key.startsWith("gr_")) return "grant";
	if (key === EVENT_LOG_KEY) return "eventLog";
	if (key === ENGINES_KEY) return "engines";
	return undefined;
}

/** A record of a kind this program does not know keeps all it holds and is queued nowhere. */
export function decode(key: string, doc: string): object {
	const type = recordTypeOf(key);
	if (type === "execution") return decodeExecution(key, doc);
	return decodeRecord(type ? defaultsOf[type] : {}, doc);
}

export function encode(key: string, record: object): string {
	const type = recordTypeOf(key);
	if (type === "execution") return encodeExecution(record as ExecutionRecord);
	return encodeRecord(type ? defaultsOf[type] : {}, record);
}

/** What has ended, and what is kept only to be looked up, is seldom asked for again. */
export function isBusy(key: string, record: object): boolean {
	switch (recordTypeOf(key)) {
		case "execution":
			return (record as ExecutionRecord).lifecyclePhase !== "terminal";
		case "attempt":
		case "idempotencyKey":
		case "claimRequest":
		case "grant":
			return false;
		default:
			return true;
	}
}

/**
 * The slot a record, a blob or an owner of events lives in; undefined for what any partition may have one of. A ticket
 * too many does no harm, so those are among the latter.
 */
export function slotOfKey(key: string): number | undefined {
	switch (recordTypeOf(key)) {
		case "execution":
		case "grant":
			return trustedSlot(key);
		case "attempt":
			return trustedSlot(key.slice(0, key.indexOf("/")));
		case "idempotencyKey":
			return slotOf(key.slice(IDEMPOTENCY_KEY_PREFIX.length));
		case "laneHome":
			return slotOfLaneHomeKey(key);
		case "worker":
			return slotOfWorkerKey(key);
		case "engines":
			return ENGINES_SLOT;
		default:
			return undefined;
	}
}
