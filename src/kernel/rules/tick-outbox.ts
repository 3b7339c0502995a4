import type { OutboxRecord } from "../records/outbox.ts";
import { amend, type Key } from "../records/record.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

const SEND_AGAIN_MS = 2000;

/** A message that has not been sent by whoever left it. */
export function tickOutbox(tx: Tx, command: TickCommand, now: number): TickOutcome {
	const key = command.key as Key<OutboxRecord>;
	const record = tx.get(key);
	if (!record) return { ok: true };
	if (record.sendAt > now) return { ok: true, early: record.sendAt };
	tx.put(key, amend(record, { sendAt: now + SEND_AGAIN_MS }));
	return { ok: true, duty: "outbox", errand: { type: "send", key, record } };
}
