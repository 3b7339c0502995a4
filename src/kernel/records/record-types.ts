import { attemptDefaults } from "./attempt.ts";
import { executionDefaults } from "./execution.ts";
import { idempotencyKeyDefaults } from "./idempotency-key.ts";
import { laneDefaults } from "./lane.ts";
import { decodeRecord } from "./record.ts";

export type RecordType = "execution" | "attempt" | "idempotencyKey" | "lane";

const defaultsOf: Record<RecordType, object> = {
	execution: executionDefaults,
	attempt: attemptDefaults,
	idempotencyKey: idempotencyKeyDefaults,
	lane: laneDefaults,
};

/** A key tells what kind of record it names; undefined for keys of a later version. */
export function recordTypeOf(key: string): RecordType | undefined {
	if (key.startsWith("ex_")) return key.includes("/") ? "attempt" : "execution";
	if (key.startsWith("key:")) return "idempotencyKey";
	if (key.startsWith("lane:")) return "lane";
	return undefined;
}

/** A record of a kind this program does not know keeps all it holds and is queued nowhere. */
export function decode(key: string, doc: string): object {
	const type = recordTypeOf(key);
	return decodeRecord(type ? defaultsOf[type] : {}, doc);
}
