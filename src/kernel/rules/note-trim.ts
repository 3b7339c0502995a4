import type { Outcome } from "../outcome.ts";
import { EVENT_LOG_KEY, makeEventLog } from "../records/event-log.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/** Said before old events are let go, so that a reader who comes back can tell what it has missed. */
export interface NoteTrimCommand {
	op: "noteTrim";
	before: number;
}

export type NoteTrimOutcome = Outcome<{ trimmedBefore: number }>;

export function noteTrim(tx: Tx, { before }: NoteTrimCommand): NoteTrimOutcome {
	const known = tx.get(EVENT_LOG_KEY) ?? makeEventLog({});
	const trimmedBefore = Math.max(before, known.trimmedBefore);
	tx.put(EVENT_LOG_KEY, amend(known, { trimmedBefore }));
	return { ok: true, trimmedBefore };
}
