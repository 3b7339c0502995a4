import { isGuarded } from "./admission/guards.ts";
import { isClaimable } from "./placement.ts";
import type { ExecutionRecord } from "./records/execution.ts";
import { amend, type Key } from "./records/record.ts";
import { fairQueue, makeTicket, type TicketRecord, ticketKey } from "./records/ticket.ts";
import type { TickCommand, TickOutcome } from "./ticking.ts";
import type { Tx } from "./tx.ts";

/** Whatever comes to wait under a fairness key has a ticket standing for it. Reading it is enough: see `TicketRecord`. */
export function ensureTicket(tx: Tx, record: ExecutionRecord, now: number): void {
	const key = ticketKey(record);
	const known = tx.get(key);
	if (known && known.idleAt === 0) return;
	if (known) {
		tx.put(key, amend(known, { idleAt: 0, turnAt: Math.max(known.turnAt, now) }));
		return;
	}
	tx.put(key, ticketFor(record, now));
}

/** A new ticket that stands for this and whatever else waits beside it. */
export function ticketFor(record: ExecutionRecord, now: number): TicketRecord {
	const { namespace, lane, kind, requiredCapabilities, fairnessKey, priority, agingMs } = record;
	const ticket = makeTicket({
		namespace,
		lane,
		kind,
		requiredCapabilities,
		fairnessKey,
		priority,
		agingMs,
		turnAt: now,
	});
	if (isGuarded(record)) ticket.isGuarded = true;
	return ticket;
}

/** Whether a record is work that only a ticket leads to. */
export const needsTicket = (record: ExecutionRecord): boolean => record.fairnessKey !== "" && isClaimable(record);

/** Looks once more behind a ticket that was found idle; its version vouches for what this look finds. */
export function tickTicket(tx: Tx, { key }: TickCommand, now: number): TickOutcome {
	const ticket = tx.get(key as Key<TicketRecord>);
	if (!ticket || ticket.idleAt === 0) return { ok: true };
	if (tx.all(fairQueue(ticket), key, 1).length === 0) tx.remove(key);
	else tx.put(key, amend(ticket, { idleAt: 0, turnAt: Math.max(now, ticket.turnAt) }));
	return { ok: true, duty: "ticket_check" };
}
