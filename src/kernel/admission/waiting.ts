import type { GuardRecord } from "../records/guard.ts";
import { amend } from "../records/record.ts";

/**
 * What may wait for a budget or quota is known there by `waitersAt`: set in the step that refuses, before the refused is
 * moved aside. It is cleared only by somebody who found nothing that waits, long enough after the last refusal that
 * whatever was refused then has been moved aside or never will be.
 */

/** How long after a refusal the refused may yet come to wait: as long as it can be held, and some more. */
const MAY_COME_MS = 10_000;
const LOOK_AGAIN_MS = 5000;
/** A look that is not over by then is asked for again. */
const LOOK_MS = 2000;
/** Of a refusal every so often is written down. */
const NOTED_EVERY_MS = 1000;

/** Until when what was refused last may yet come to wait. */
export const settledAt = ({ waitersAt }: GuardRecord): number => waitersAt + MAY_COME_MS;

/** What waits, if something does, is to be looked at then, or earlier. */
export const releasingAt = <R extends GuardRecord>(guard: R, at: number | undefined): R =>
	at !== undefined && (guard.releaseAt === 0 || guard.releaseAt > at)
		? amend(guard, { releaseAt: at } as Partial<R>)
		: guard;

/** Until when a look that begins now is waited for. */
export const lookUntil = (now: number): number => now + LOOK_MS;

/** There is room, or the limits have changed: what waits is to be looked at. */
export const releasing = <R extends GuardRecord>(guard: R, now: number): R =>
	guard.waitersAt > 0 ? releasingAt(guard, now) : guard;

/** Something was refused. It may be released at a time that is known, and else when something changes. */
export function refusing<R extends GuardRecord>(guard: R, now: number, freeAt = Number.POSITIVE_INFINITY): R {
	const isNoted = guard.waitersAt > now - NOTED_EVERY_MS;
	// Whoever moves it aside looks once more; should that one be gone by then, this look is made in its place.
	const lookAt = Math.min(freeAt, isNoted ? Number.POSITIVE_INFINITY : now + LOOK_AGAIN_MS);
	if (isNoted && lookAt >= (guard.releaseAt || Number.POSITIVE_INFINITY)) return guard;
	const releaseAt = Math.min(guard.releaseAt || Number.POSITIVE_INFINITY, lookAt);
	const waitersAt = isNoted ? guard.waitersAt : now;
	return amend(guard, { waitersAt, releaseAt } as Partial<R>);
}

/**
 * What waited was looked at, as was asked for with `releaseAt`: nothing was left, or something was. If it was asked for
 * again meanwhile, that is still to be done. What came to wait after the look began may have been overlooked.
 */
export function looked<R extends GuardRecord>(guard: R, isEmpty: boolean, releaseAt: number): R {
	if (guard.releaseAt !== releaseAt) return guard;
	const isSettled = releaseAt - LOOK_MS > settledAt(guard);
	const changes: Partial<GuardRecord> = { releaseAt: isSettled ? 0 : settledAt(guard) + 1 };
	if (isEmpty && isSettled) changes.waitersAt = 0;
	return amend(guard, changes as Partial<R>);
}
