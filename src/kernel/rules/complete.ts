import { ending, holder, leaseEvent } from "../changing.ts";
import { type Fence, fenceAnswer } from "../fence.ts";
import type { Outcome } from "../outcome.ts";
import type { Blob, Payload } from "../payload.ts";
import type { PublicState } from "../state.ts";
import { find, notFound, type Target } from "../target.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

export interface CompleteCommand extends Target {
	op: "complete";
	fence?: Fence;
	result: Payload | null;
	resultBlob?: Blob;
}

export type CompleteOutcome = Outcome<{ publicState: PublicState }>;

export function complete(tx: Tx, command: CompleteCommand, now: number): CompleteOutcome {
	const record = find(tx, command);
	if (!record) return notFound(command);
	const answer = fenceAnswer(record, command.fence, "complete");
	if (answer) return answer as CompleteOutcome;
	if (command.resultBlob) tx.putBlob(command.resultBlob);
	const reply = { publicState: "completed" } as const;
	const changes = ending(record, "success", now, "complete", reply);
	if (command.result && changes.attempt) changes.attempt.result = command.result;
	changes.failure = null;
	transition(tx, record, changes, holder(record, now), leaseEvent("completed", record));
	return { ok: true, publicState: "completed" };
}
