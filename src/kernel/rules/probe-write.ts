import type { Outcome } from "../outcome.ts";
import { EVENT_LOG_KEY, makeEventLog } from "../records/event-log.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/** Writes again what is there, to see whether the store takes it. It counts as work that starts, which a full store refuses first. */
export interface ProbeWriteCommand {
	op: "probeWrite";
}

export type ProbeWriteOutcome = Outcome;

export function probeWrite(tx: Tx, _command: ProbeWriteCommand): ProbeWriteOutcome {
	tx.put(EVENT_LOG_KEY, amend(tx.get(EVENT_LOG_KEY) ?? makeEventLog({}), {}));
	return { ok: true };
}
