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
	if (!known || known.expiresAt <= now) return undefined;
	if (known.flowId !== "") return known;
	const holder: ExecutionRecord | FlowRecord | undefined = known.executionId.startsWith("fl_")
		? tx.get(flowKey(known.executionId))
		: tx.get(executionKey(known.executionId));
	return holder && !holder.removing ? known : undefined;
}

export const keyConflict = (idempotencyKey: string, executionId: string): Refusal =>
	refuse("idempotency_conflict", { field: "idempotencyKey", idempotencyKey, executionId });

export const holderOf = ({ executionId, flowId, bodyHash }: IdempotencyKeyRecord, given: string): KeyHolder => ({
	executionId,
	flowId,
	isSame: bodyHash === given,
});
