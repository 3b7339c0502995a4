import { ask, giveBack, type HoldAnswer, type HoldRequest, type Jitter, lookAgain } from "../admission/holding.ts";
import { forgetSpender } from "../admission/ledger.ts";
import type { Outcome } from "../outcome.ts";
import type { GuardName } from "../records/guard.ts";
import { holdKey } from "../records/hold.ts";
import type { OutboxRecord } from "../records/outbox.ts";
import type { Tx } from "../tx.ts";

export interface ReserveCommand {
	op: "reserve";
	guard: GuardName;
	/** All that one call asks of this budget or quota, in order. */
	requests: readonly HoldRequest[];
	jitter: Jitter;
}

export type ReserveOutcome = Outcome<{ answers: HoldAnswer[] }>;

/** Admits executions that wait in other partitions, each under the id of the lease to be: may be said again. */
export function reserve(tx: Tx, { guard, requests, jitter }: ReserveCommand, now: number): ReserveOutcome {
	return { ok: true, answers: requests.map((request) => ask(tx, guard, request, now, jitter)) };
}

/** What came by the outboxes of executions about one budget or quota. */
export interface TakeBackCommand {
	op: "takeBack";
	guard: GuardName;
	messages: readonly Pick<OutboxRecord, "executionId" | "holdId" | "message">[];
}

export type TakeBackOutcome = Outcome;

/** Takes back what executions had of a budget or quota; may be said again. */
export function takeBack(tx: Tx, { guard, messages }: TakeBackCommand, now: number): TakeBackOutcome {
	tx.expect(messages.map(({ holdId }) => holdKey(guard, holdId)));
	for (const { executionId, holdId, message } of messages) {
		if (message === "removed") forgetSpender(tx, guard, executionId);
		else if (message === "passed") lookAgain(tx, guard, now);
		else giveBack(tx, guard, holdId, message === "unused", now);
	}
	return { ok: true };
}
