import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { ExecutionRecord } from "../../src/kernel/records/execution.ts";
import { publicState } from "../../src/kernel/state.ts";
import type { ModelExecution } from "./model.ts";

const STATE = [
	"lifecyclePhase",
	"ownershipState",
	"eligibilityState",
	"blockingReason",
	"terminalOutcome",
	"attemptState",
] as const;

/** All that can be read of an execution, against what the model says. */
export function compare(record: ExecutionRecord, it: ModelExecution): void {
	const { attempt, lease, cancel } = record;
	const failed = it.situation.is === "ended" && it.situation.outcome === "failed";
	same(
		{
			fields: Object.fromEntries([...STATE.map((name) => [name, record[name]]), ["publicState", publicState(record)]]),
			counters: [record.retries, record.reclaims, record.replays, record.epoch],
			attempt: attempt && { index: attempt.index, type: attempt.type, state: attempt.state },
			leaseUntil: lease?.expiresAt,
			priority: record.priority,
			tags: { ...record.tags },
			delayUntil: record.delayUntil,
			completedAt: record.completedAt,
			progress: { ...record.progress },
			cancel: [cancel?.source, cancel?.reason],
			failure: failed ? record.failure?.category : undefined,
		},
		{
			fields: it.fields(),
			counters: [it.retries, it.reclaims, it.replays, it.epoch],
			attempt: it.attempt ? { index: it.attempts.length - 1, ...it.attempt } : null,
			leaseUntil: it.situation.is === "active" ? it.situation.lease.until : undefined,
			priority: it.priority,
			tags: Object.fromEntries(it.tags),
			delayUntil: it.situation.is === "delayed" ? it.situation.until : 0,
			completedAt: it.situation.is === "ended" ? it.situation.at : 0,
			progress: it.progress,
			cancel: [it.cancel?.source, it.cancel?.reason],
			failure: failed ? it.failure?.category : undefined,
		},
	);
}

/** `expect` explains a difference well, but takes its time where there is none. */
export function same(found: unknown, wanted: unknown): void {
	if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
}
