import { holder, leaseEvent, takeLease } from "../changing.ts";
import { type Fence, fenceAnswer, firstAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import type { ExecutionRecord } from "../records/execution.ts";
import { releasedUntil } from "../releases.ts";
import { delayed, eligible, type PublicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";
import { endCancelled } from "./cancel.ts";

/** The two ways a holder gives work back without ending its attempt: at once, or for later. */

export interface ReleaseCommand extends Target {
	op: "release";
	fence?: Fence;
}

export type ReleaseOutcome = Outcome<{ publicState: PublicState; delayUntil?: number }>;

export function release(tx: Tx, command: ReleaseCommand, now: number): ReleaseOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "release");
	if (answer) return answer as ReleaseOutcome;
	const deed = holder(record, now);
	if (record.cancel) return endCancelled(tx, record, "release", deed);
	const event = leaseEvent("lease_released", record);
	const delayUntil = releasedUntil(record);
	if (delayUntil > now) {
		const held: Partial<ExecutionRecord> = delayed("waiting_for_delay", "attempt_interrupted");
		takeLease(held, record, now, "release", { publicState: "delayed", delayUntil });
		held.delayUntil = delayUntil;
		event.delayUntil = delayUntil;
		return firstAnswer(transition(tx, record, held, deed, event));
	}
	const changes: Partial<ExecutionRecord> = eligible("attempt_interrupted");
	takeLease(changes, record, now, "release", { publicState: "waiting" });
	changes.eligibleAt = now;
	return firstAnswer(transition(tx, record, changes, deed, event));
}

export interface DelayCommand extends Target {
	op: "delay";
	fence?: Fence;
	delayMs?: number;
	delayUntil?: number;
}

export type DelayOutcome = Outcome<{ publicState: PublicState; delayUntil?: number }>;

export function delay(tx: Tx, command: DelayCommand, now: number): DelayOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "delay");
	if (answer) return answer as DelayOutcome;
	const deed = holder(record, now);
	if (record.cancel) return endCancelled(tx, record, "delay", deed);
	const delayUntil = command.delayUntil ?? now + (command.delayMs ?? 0);
	const reply = { publicState: "delayed", delayUntil } as const;
	const changes: Partial<ExecutionRecord> = delayed("waiting_for_delay", "attempt_interrupted");
	takeLease(changes, record, now, "delay", reply);
	changes.delayUntil = delayUntil;
	const event = leaseEvent("delayed", record);
	event.delayUntil = delayUntil;
	return firstAnswer(transition(tx, record, changes, deed, event));
}
