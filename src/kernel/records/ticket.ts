import { isGuarded } from "../admission/guards.ts";
import { list, type Shapes, text } from "../shape.ts";
import { type ExecutionRecord, executionDefaults } from "./execution.ts";
import { type Key, makeRecord } from "./record.ts";

/**
 * Stands in the queue of its class for everything that waits under one fairness key at one priority, so that keys take
 * turns however much waits under each. There is one per partition for as long as something may wait there.
 *
 * A ticket is *idle* once a claim found nothing behind it. What the claim saw may have been out of date, so an idle
 * ticket is looked at once more before it goes. Work that comes meanwhile finds it idle and writes it; work that came
 * before is found by that look. So none is ever left behind without a ticket.
 */
export interface TicketRecord {
	namespace: string;
	lane: string;
	kind: string;
	requiredCapabilities: readonly string[];
	/** Whether budgets or quotas must admit what it stands for. */
	isGuarded: boolean;
	fairnessKey: string;
	priority: number;
	agingMs: number;
	/** When its key was served last, or came to wait. */
	turnAt: number;
	/** When it was found that nothing waits; 0 while something may. */
	idleAt: number;
}

export const ticketDefaults: TicketRecord = {
	namespace: "default",
	lane: "default",
	kind: "",
	requiredCapabilities: executionDefaults.requiredCapabilities,
	isGuarded: false,
	fairnessKey: "",
	priority: 0,
	agingMs: 1e12,
	turnAt: 0,
	idleAt: 0,
};

export const ticketShapes: Shapes<TicketRecord> = { requiredCapabilities: list(text) };

export const TICKET_PREFIX = "ticket:";

export const isTicketKey = (key: string): key is Key<TicketRecord> => key.startsWith(TICKET_PREFIX);

/** The length of the kind keeps apart a kind `a,b` under key `c` and a kind `a` under key `b,c`. */
function ticketName(record: ExecutionRecord | TicketRecord): string {
	const { namespace, lane, kind, requiredCapabilities, fairnessKey, priority } = record;
	const guarded = "isGuarded" in record ? record.isGuarded : isGuarded(record);
	return `${namespace},${lane},${guarded ? " " : ""}${requiredCapabilities.join(" ")},${priority},${kind.length},${kind},${fairnessKey}`;
}

export const ticketKey = (record: ExecutionRecord): Key<TicketRecord> => TICKET_PREFIX + ticketName(record);

/** Where work under a fairness key waits for its ticket's turn. */
export const fairQueue = (record: ExecutionRecord | TicketRecord): string => `fair,${ticketName(record)}`;

export const makeTicket = (fields: Partial<TicketRecord>): TicketRecord => makeRecord(ticketDefaults, fields);

/** How far ahead of the clock turns may run where a key is served more than once in a millisecond. */
const MOST_AHEAD_MS = 256;

/** Where a key stands after so many turns: behind every key of its priority that has not been served since. */
export const turnAfter = ({ turnAt }: Pick<TicketRecord, "turnAt">, now: number, turns = 1): number =>
	Math.min(Math.max(now, turnAt + 1) + turns - 1, now + MOST_AHEAD_MS);
