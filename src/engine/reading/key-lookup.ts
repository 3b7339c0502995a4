import { executionOfKey } from "../../kernel/idempotency.ts";
import { slotOf } from "../../kernel/ids.ts";
import { type ExecutionRecord, executionKey } from "../../kernel/records/execution.ts";
import {
	type IdempotencyKeyRecord,
	idempotencyKeyKey,
	idempotencySubject,
} from "../../kernel/records/idempotency-key.ts";
import type { Session } from "../calls/session.ts";
import { readRecords } from "./records.ts";
import type { Found } from "./showing.ts";

/** The execution that a submit under this key would lead to now. Two reads, however much there is. */
export async function findByKey(session: Session, namespace: string, key: string): Promise<Found | undefined> {
	const home = session.engine.runnerOfSlot(slotOf(idempotencySubject(namespace, key)));
	const [known] = await readRecords<IdempotencyKeyRecord>(session, home, [idempotencyKeyKey(namespace, key)]);
	const id = known && executionOfKey(known, home.time.now());
	if (id === undefined) return undefined;
	// A member of a flow lives with its flow.
	const runner = session.runnerOf(id);
	const [record] = await readRecords<ExecutionRecord>(session, runner, [executionKey(id)]);
	return record && { record, runner };
}
