import { begin } from "../changing.ts";
import { type NewExecution, newExecution } from "../creating.ts";
import type { EventDraft } from "../events.ts";
import { holderOf, type KeyHolder, keyConflict, keyInUse } from "../idempotency.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { DEFAULT_DEDUP_WINDOW_MS } from "../policy.ts";
import { executionKey } from "../records/execution.ts";
import { idempotencyKeyKey, makeIdempotencyKey } from "../records/idempotency-key.ts";
import { laneDefaults, laneKey } from "../records/lane.ts";
import { type PublicState, publicState } from "../state.ts";
import type { Tx } from "../tx.ts";

export interface CreateCommand extends NewExecution {
	op: "create";
	/** With a key, `bodyHash` is the hash of everything else the caller sent. */
	bodyHash?: string;
	actor: string;
}

/** With `holder`, nothing was made: its key is held for a member of a flow. */
export type CreateOutcome = Outcome<{ id: string; publicState: PublicState; created: boolean; holder?: KeyHolder }>;

export function create(tx: Tx, command: CreateCommand, now: number): CreateOutcome {
	const { executionId, namespace, lane, idempotencyKey } = command;
	if (idempotencyKey) {
		const known = keyInUse(tx, namespace, idempotencyKey, now);
		if (known?.flowId) {
			const holder = holderOf(known, command.bodyHash ?? "");
			return { ok: true, id: known.executionId, publicState: "waiting", created: false, holder };
		}
		if (known && known.bodyHash !== command.bodyHash) return keyConflict(idempotencyKey, known.executionId);
		const first = known && tx.get(executionKey(known.executionId));
		if (first) return { ok: true, id: first.id, publicState: publicState(first), created: false };
	}
	const laneCopy = tx.get(laneKey(namespace, lane)) ?? laneDefaults;
	if (laneCopy.state === "draining") return refuse("lane_draining", { lane });
	tx.getFresh(executionKey(executionId));

	if (idempotencyKey && command.bodyHash !== undefined) {
		const expiresAt = now + (command.policy.dedupWindowMs ?? DEFAULT_DEDUP_WINDOW_MS);
		tx.put(
			idempotencyKeyKey(namespace, idempotencyKey),
			makeIdempotencyKey({ executionId, bodyHash: command.bodyHash, expiresAt }),
		);
	}
	if (command.inputBlob) tx.putBlob(command.inputBlob);

	const record = newExecution(command, laneCopy, now);
	const { delayUntil } = record;
	const event: EventDraft = delayUntil > 0 ? { type: "created", delayUntil } : { type: "created" };
	begin(tx, record, { now, actor: command.actor }, event);
	return { ok: true, id: executionId, publicState: publicState(record), created: true };
}
