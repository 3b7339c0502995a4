import { type Fence, fenceAnswer } from "../fence.ts";
import { type Outcome, refuse } from "../outcome.ts";
import { amendExecution, executionKey, partsOf } from "../records/execution.ts";
import { addWaitpoint, MOST_WAITPOINTS, openWaitpoint } from "../suspension/waitpoints.ts";
import { find, notFound, type Target } from "../target.ts";
import type { Tx } from "../tx.ts";
import type { SuspendedAt } from "./suspend.ts";

export interface CreateWaitpointCommand extends Target {
	op: "createWaitpoint";
	fence?: Fence;
	key: string;
	/** When it closes unless something waits at it by then. */
	expiresMs?: number;
	uuid: string;
}

export type CreateWaitpointOutcome = Outcome<{ waitpoint: SuspendedAt; created: boolean }>;

/** Opens a waitpoint before anything waits at it. One that is open under its key already is given again. */
export function createWaitpoint(tx: Tx, command: CreateWaitpointCommand, now: number): CreateWaitpointOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "createWaitpoint");
	if (answer) return answer as CreateWaitpointOutcome;
	const { key, expiresMs, uuid } = command;
	const known = openWaitpoint(tx, record, key, now);
	if (known) return { ok: true, waitpoint: { id: known.id, ...known.record }, created: false };
	const before = partsOf(record);
	if (before.waitpoints >= MOST_WAITPOINTS)
		return refuse("too_many_waitpoints", { executionId: record.id, limit: MOST_WAITPOINTS });
	const expiresAt = expiresMs === undefined ? 0 : now + expiresMs;
	const { waitpoint, parts } = addWaitpoint(tx, record, before, uuid, { key, createdAt: now, expiresAt });
	tx.put(executionKey(record.id), amendExecution(record, { parts }));
	return { ok: true, waitpoint: { id: waitpoint.id, ...waitpoint.record }, created: true };
}
