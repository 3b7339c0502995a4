import { type Outcome, refuse } from "../outcome.ts";
import type { Blob, Payload } from "../payload.ts";
import { DEFAULT_DEDUP_WINDOW_MS, isEmpty, type Policy } from "../policy.ts";
import { clampPriority } from "../priority.ts";
import type { Amounts } from "../records/budget.ts";
import { executionKey, makeExecution } from "../records/execution.ts";
import { idempotencyKeyKey, makeIdempotencyKey } from "../records/idempotency-key.ts";
import { laneDefaults, laneKey } from "../records/lane.ts";
import { delayed, eligible, type PublicState, publicState } from "../state.ts";
import type { Tags } from "../tags.ts";
import { begin } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface CreateCommand {
	op: "create";
	executionId: string;
	kind: string;
	namespace: string;
	lane: string;
	priority: number;
	/** Left out when there are none. */
	tags?: Tags;
	/** Sorted, each once; left out when there are none. */
	requiredCapabilities?: readonly string[];
	/** Sorted, each once; left out when there are none. */
	budgets?: readonly string[];
	quotas?: readonly string[];
	/** By budget, each one of `budgets`. */
	reserve?: Readonly<Record<string, Amounts>>;
	fairnessKey?: string;
	policy: Policy;
	input: Payload | null;
	inputBlob?: Blob;
	delayUntil?: number;
	delayMs?: number;
	/** With a key, `bodyHash` is the hash of everything else the caller sent. */
	idempotencyKey?: string;
	bodyHash?: string;
	traceparent?: string;
	createdBy: string;
	retentionMs: number;
	actor: string;
}

export type CreateOutcome = Outcome<{ id: string; publicState: PublicState; created: boolean }>;

export function create(tx: Tx, command: CreateCommand, now: number): CreateOutcome {
	const { executionId, namespace, lane, idempotencyKey } = command;
	if (idempotencyKey) {
		const known = tx.get(idempotencyKeyKey(namespace, idempotencyKey));
		const first = known && known.expiresAt > now ? tx.get(executionKey(known.executionId)) : undefined;
		if (known && first && !first.removing) {
			if (known.bodyHash !== command.bodyHash) {
				return refuse("idempotency_conflict", { field: "idempotencyKey", idempotencyKey, executionId: first.id });
			}
			return { ok: true, id: first.id, publicState: publicState(first), created: false };
		}
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

	const delayUntil = command.delayUntil ?? now + (command.delayMs ?? 0);
	const waits = delayUntil > now;
	const state = waits ? delayed("waiting_for_delay", "pending_first_attempt") : eligible("pending_first_attempt");
	const record = makeExecution({ id: executionId, kind: command.kind, namespace, lane });
	record.priority = clampPriority(command.priority);
	record.agingMs = laneCopy.agingMs;
	if (command.tags) record.tags = command.tags;
	if (command.requiredCapabilities) record.requiredCapabilities = command.requiredCapabilities;
	if (command.budgets) record.budgets = command.budgets;
	if (command.quotas) record.quotas = command.quotas;
	if (command.reserve) record.reserve = command.reserve;
	if (command.fairnessKey) record.fairnessKey = command.fairnessKey;
	if (!isEmpty(command.policy)) record.policy = command.policy;
	record.input = command.input;
	if (idempotencyKey) record.idempotencyKey = idempotencyKey;
	if (command.traceparent) record.traceparent = command.traceparent;
	record.createdBy = command.createdBy;
	record.createdAt = now;
	record.retentionMs = command.policy.retentionMs ?? command.retentionMs;
	if (waits) record.delayUntil = delayUntil;
	record.lifecyclePhase = state.lifecyclePhase;
	record.ownershipState = state.ownershipState;
	record.eligibilityState = state.eligibilityState;
	record.blockingReason = state.blockingReason;
	record.terminalOutcome = state.terminalOutcome;
	record.attemptState = state.attemptState;
	begin(tx, record, { now, actor: command.actor }, waits ? { type: "created", delayUntil } : { type: "created" });
	return { ok: true, id: executionId, publicState: publicState(state), created: true };
}
