import type { ExecutionRecord } from "./records/execution.ts";

/**
 * Work that its holders hand back again and again. A worker that takes what it cannot run would go round with it as fast
 * as the store can. So from the eleventh time in a row one claim and the next lie some time apart, and that time doubles.
 */

const FREE_RELEASES = 10;
const FIRST_WAIT_MS = 100;
const MOST_WAIT_MS = 30_000;

/** Until when it is kept back if its holder hands it back now; what was held for long is handed out at once. */
export function releasedUntil({ attempt, lease }: ExecutionRecord): number {
	const again = (attempt?.releases ?? 0) - FREE_RELEASES;
	if (again < 0 || !lease) return 0;
	return lease.acquiredAt + Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** again);
}

/** Whether its delay is for that. */
export const isHandedAround = ({ attempt }: ExecutionRecord): boolean => (attempt?.releases ?? 0) > FREE_RELEASES;
