import type { SignalRecord } from "../records/signal.ts";
import type { SuspensionRecord } from "../records/suspension.ts";

/**
 * Whether a signal is among those by which a suspension ended, which its worker is given. Where its condition came to hold,
 * those are what the leaves counted that made it hold; otherwise all that had been counted by then.
 */
export const hasEndedBy = ({ endedBy, satisfiedBy }: SuspensionRecord, { leaves }: SignalRecord): boolean =>
	endedBy !== "satisfied" || leaves.some((leaf) => satisfiedBy.includes(leaf));
