import type { Blob, Payload } from "./payload.ts";
import { isEmpty, type Policy } from "./policy.ts";
import { clampPriority } from "./priority.ts";
import type { Amounts } from "./records/budget.ts";
import { type ExecutionRecord, makeExecution } from "./records/execution.ts";
import type { LaneRecord } from "./records/lane.ts";
import { delayed, eligible } from "./state.ts";
import type { Tags } from "./tags.ts";

/** What is said of work that is to be made, by whoever makes it. */
export interface NewExecution {
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
	idempotencyKey?: string;
	traceparent?: string;
	createdBy: string;
	retentionMs: number;
}

/** A new execution that waits for nothing but a worker, or for its delay to end. */
export function newExecution(
	given: NewExecution,
	{ agingMs }: Pick<LaneRecord, "agingMs">,
	now: number,
): ExecutionRecord {
	const delayUntil = given.delayUntil ?? now + (given.delayMs ?? 0);
	const waits = delayUntil > now;
	const state = waits ? delayed("waiting_for_delay", "pending_first_attempt") : eligible("pending_first_attempt");
	const { executionId, kind, namespace, lane, idempotencyKey } = given;
	const record = makeExecution({ id: executionId, kind, namespace, lane });
	record.priority = clampPriority(given.priority);
	record.agingMs = agingMs;
	if (given.tags) record.tags = given.tags;
	if (given.requiredCapabilities) record.requiredCapabilities = given.requiredCapabilities;
	if (given.budgets) record.budgets = given.budgets;
	if (given.quotas) record.quotas = given.quotas;
	if (given.reserve) record.reserve = given.reserve;
	if (given.fairnessKey) record.fairnessKey = given.fairnessKey;
	if (!isEmpty(given.policy)) record.policy = given.policy;
	record.input = given.input;
	if (idempotencyKey) record.idempotencyKey = idempotencyKey;
	if (given.traceparent) record.traceparent = given.traceparent;
	record.createdBy = given.createdBy;
	record.createdAt = now;
	record.retentionMs = given.policy.retentionMs ?? given.retentionMs;
	if (waits) record.delayUntil = delayUntil;
	record.lifecyclePhase = state.lifecyclePhase;
	record.ownershipState = state.ownershipState;
	record.eligibilityState = state.eligibilityState;
	record.blockingReason = state.blockingReason;
	record.terminalOutcome = state.terminalOutcome;
	record.attemptState = state.attemptState;
	return record;
}
