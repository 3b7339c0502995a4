import { holderOf, type KeyHolder, keyConflict, keyInUse } from "../idempotency.ts";
import type { Outcome } from "../outcome.ts";
import { idempotencyKeyKey, makeIdempotencyKey } from "../records/idempotency-key.ts";
import type { Tx } from "../tx.ts";

export interface HoldKeyCommand {
	op: "holdKey";
	namespace: string;
	idempotencyKey: string;
	bodyHash: string;
	windowMs: number;
	executionId: string;
	flowId: string;
	node: string;
}

export type HoldKeyOutcome = Outcome<{ holder?: KeyHolder }>;

/** Holds a key for a member that is about to be made. Held again for the same node it stands for the later one. */
export function holdKey(tx: Tx, command: HoldKeyCommand, now: number): HoldKeyOutcome {
	const { namespace, idempotencyKey, executionId, bodyHash, flowId, node } = command;
	const known = keyInUse(tx, namespace, idempotencyKey, now);
	if (known) {
		const isRepeat = known.flowId === flowId && known.node === node && known.bodyHash === bodyHash;
		if (known.flowId === "") return keyConflict(idempotencyKey, known.executionId);
		if (!isRepeat) return { ok: true, holder: holderOf(known, bodyHash) };
	}
	const expiresAt = now + command.windowMs;
	const record = makeIdempotencyKey({ executionId, bodyHash, expiresAt, flowId, node });
	tx.put(idempotencyKeyKey(namespace, idempotencyKey), record);
	return { ok: true };
}

export interface FreeKeyCommand {
	op: "freeKey";
	namespace: string;
	idempotencyKey: string;
	/** Only if it is held for this one. */
	executionId: string;
}

/** Lets go of a key that was held for a member which does not exist. */
export function freeKey(tx: Tx, { namespace, idempotencyKey, executionId }: FreeKeyCommand): Outcome {
	const key = idempotencyKeyKey(namespace, idempotencyKey);
	if (tx.get(key)?.executionId === executionId) tx.remove(key);
	return { ok: true };
}
