import { Candidates } from "../candidates.ts";
import type { Outcome } from "../outcome.ts";
import { type ExecutionRecord, executionKey } from "../records/execution.ts";
import { blocked, eligible } from "../state.ts";
import { transition } from "../transition.ts";
import type { Tx } from "../tx.ts";

/**
 * Work that no live worker can serve is moved aside, and back when one can. Which workers live is known in another
 * partition, so whoever sends these has looked there; both only move work between two queues, and may be repeated.
 */

/** How many are moved in one step, so that no unit grows with what waits. */
export const MOVED_PER_STEP = 100;

export interface BlockRouteCommand {
	op: "blockRoute";
	/** An eligible queue. */
	queue: string;
	/** Why, for a person. */
	detail: string;
	actor: string;
}

export type RouteOutcome = Outcome<{ moved: number }>;

export function blockRoute(tx: Tx, { queue, detail, actor }: BlockRouteCommand, now: number): RouteOutcome {
	const candidates = new Candidates(tx, [queue], MOVED_PER_STEP, now);
	let moved = 0;
	while (moved < MOVED_PER_STEP) {
		const record = candidates.next();
		if (!record) break;
		const changes: Partial<ExecutionRecord> = blocked(
			"blocked_by_route",
			"waiting_for_capable_worker",
			record.attemptState,
		);
		changes.blockingDetail = detail;
		changes.blockedAt = now;
		transition(tx, record, changes, { now, actor }, { type: "blocked", reason: "waiting_for_capable_worker", detail });
		candidates.setAside();
		moved += 1;
	}
	return { ok: true, moved };
}

export interface UnblockRouteCommand {
	op: "unblockRoute";
	/** A route queue. */
	queue: string;
	/** Of what waits in it, this; the first that do when left out. */
	keys?: readonly string[];
	actor: string;
}

export function unblockRoute(tx: Tx, { queue, actor, ...command }: UnblockRouteCommand, now: number): RouteOutcome {
	const keys = command.keys ?? tx.first(queue, MOVED_PER_STEP).map(({ key }) => key);
	tx.expect(keys);
	let moved = 0;
	for (const key of keys) {
		const record = tx.getReadable(executionKey(key));
		if (record?.eligibilityState !== "blocked_by_route") continue;
		const changes: Partial<ExecutionRecord> = eligible(record.attemptState);
		changes.blockingDetail = "";
		changes.blockedAt = 0;
		transition(tx, record, changes, { now, actor }, { type: "unblocked", reason: "waiting_for_capable_worker" });
		moved += 1;
	}
	return { ok: true, moved };
}
