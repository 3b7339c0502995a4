import { typeOfKey } from "../record-types.ts";
import type { Key } from "../records/record.ts";
import { isWithin } from "../scanner-filter.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/** Whatever was due on a record, decided by its type: a tick that comes early, late or twice does no harm. */
export function tick(tx: Tx, command: TickCommand, now: number): TickOutcome {
	const { key, scannerFilter } = command;
	const record = scannerFilter && tx.get(key as Key<object>);
	if (scannerFilter && record && !isWithin(scannerFilter, key, record)) return { ok: true, isOutside: true };
	return typeOfKey(key)?.tick?.(tx, command, now) ?? { ok: true };
}
