import { type Refusal, refuse } from "./outcome.ts";
import { type ExecutionRecord, executionKey } from "./records/execution.ts";
import { type FlowRecord, flowKey } from "./records/flow.ts";
import { type IdempotencyKeyRecord, idempotencyKeyKey } from "./records/idempotency-key.ts";
import type { Tx } from "./tx.ts";

/** Says that a key is held for a member of a flow, which may live elsewhere: whether it still does has to be looked up. */
export interface KeyHolder {
	executionId: string;
	flowId: string;
	/** Whether it was made from the same body. */
	isSame: boolean;
}

/** What a key stands for, if it still stands for something. */
export function keyInUse(tx: Tx, namespace: string, key: string, now: number): IdempotencyKeyRecord | undefined {
	const known = tx.get(idempotencyKeyKey(namespace, key));
	if (!known || isOver(known, now)) return undefined;
	if (known.flowId !== "") return known;
	const holder: ExecutionRecord | FlowRecord | undefined = isOfFlow(known)
		? tx.get(flowKey(known.executionId))
		: tx.get(executionKey(known.executionId));
	return holder && !holder.removing ? known : undefined;
}

/** The execution that a key stands for as long as its window lasts; none for a key of a whole flow. */
export const executionOfKey = (known: IdempotencyKeyRecord, now: number): string | undefined =>
	isOver(known, now) || isOfFlow(known) ? undefined : known.executionId;

const isOver = ({ expiresAt }: IdempotencyKeyRecord, now: number): boolean => expiresAt <= now;

/** Flows and executions share one space of keys. */
const isOfFlow = ({ executionId }: IdempotencyKeyRecord): boolean => executionId.startsWith("fl_");

export const keyConflict = (idempotencyKey: string, executionId: string): Refusal =>
	refuse("idempotency_conflict", { field: "idempotencyKey", idempotencyKey, executionId });

export const holderOf = ({ executionId, flowId, bodyHash }: IdempotencyKeyRecord, given: string): KeyHolder => ({
	executionId,
	flowId,
	isSame: bodyHash === given,
});
