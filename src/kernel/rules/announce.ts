import type { Outcome } from "../outcome.ts";
import { ENGINES_KEY, type EngineSeen, type EnginesRecord, makeEngines } from "../records/engines.ts";
import { amend } from "../records/record.ts";
import type { Tx } from "../tx.ts";

/** An engine says that it is there, and hears who else is. */
export interface AnnounceCommand {
	op: "announce";
	engineId: string;
	ttlMs: number;
	claims: readonly string[];
	/** What its scanners are restricted to, by name; left out when they are not. */
	scannerFilter?: string;
}

/** Every engine that was there lately; those whose time is over may be gone. */
export type AnnounceOutcome = Outcome<{ engines: EnginesRecord["engines"] }>;

/** Whoever was silent for this long is forgotten; an engine that is slow to say it is there is still heard of. */
const FORGOTTEN_AFTER_MS = 10_000;

export function announce(
	tx: Tx,
	{ engineId, ttlMs, claims, scannerFilter }: AnnounceCommand,
	now: number,
): AnnounceOutcome {
	// A record that cannot be read is made anew: nothing depends on what it said.
	const known = tx.getReadable(ENGINES_KEY) ?? makeEngines({});
	const engines: Record<string, EngineSeen> = {};
	for (const [id, seen] of Object.entries(known.engines)) {
		if (seen.until + FORGOTTEN_AFTER_MS > now) engines[id] = seen;
	}
	engines[engineId] = { until: now + ttlMs, claims, ...(scannerFilter ? { scannerFilter } : undefined) };
	tx.put(ENGINES_KEY, amend(known, { engines }));
	return { ok: true, engines };
}

/** An engine closes: nobody needs to wait for its time to be over. */
export interface WithdrawCommand {
	op: "withdraw";
	engineId: string;
}

export type WithdrawOutcome = Outcome;

export function withdraw(tx: Tx, { engineId }: WithdrawCommand): WithdrawOutcome {
	const known = tx.getReadable(ENGINES_KEY);
	if (!known || !(engineId in known.engines)) return { ok: true };
	const { [engineId]: _gone, ...engines } = known.engines;
	if (Object.keys(engines).length === 0) tx.remove(ENGINES_KEY);
	else tx.put(ENGINES_KEY, amend(known, { engines }));
	return { ok: true };
}
