import { quotaRoom } from "../admission/quota-room.ts";
import { freeAt, trimWindow } from "../admission/sliding-window.ts";
import { looked as afterLook, releasingAt } from "../admission/waiting.ts";
import type { Outcome } from "../outcome.ts";
import { budgetKey } from "../records/budget.ts";
import type { GuardName } from "../records/guard.ts";
import { quotaKey } from "../records/quota.ts";
import type { Tx } from "../tx.ts";

export interface LookedCommand {
	op: "looked";
	guard: GuardName;
	/** Nothing was left that waits. */
	isEmpty: boolean;
	/** How many were released before there was no more room; left out when all was gone through. */
	stoppedAfter?: number;
	/** As it was when the look was asked for. */
	releaseAt: number;
}

/** What waits for a budget or quota was looked at, and released as far as there was room. */
export function looked(tx: Tx, command: LookedCommand, now: number): Outcome {
	const { guard, isEmpty, stoppedAfter, releaseAt } = command;
	const { kind, namespace, id } = guard;
	if (kind === "budget") {
		const key = budgetKey(namespace, id);
		const budget = tx.get(key);
		const next = budget && afterLook(budget, isEmpty, releaseAt);
		if (next && next !== budget) tx.put(key, next);
		return { ok: true };
	}
	const key = quotaKey(namespace, id);
	const quota = tx.get(key);
	const next = quota && afterLook(trimWindow(tx, quota, now), isEmpty, releaseAt);
	// A window moves by itself: what is left is looked at again when the oldest leaves it, or now if it has left since.
	const hasMoved = next !== undefined && stoppedAfter !== undefined && quotaRoom(next, now) > stoppedAfter;
	if (next && next !== quota) tx.put(key, isEmpty ? next : releasingAt(next, hasMoved ? now : freeAt(next)));
	return { ok: true };
}
