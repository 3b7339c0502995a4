import type { Outcome } from "../outcome.ts";
import { CURSOR_KEY, isUsable, makeCursorKey } from "../records/cursor-key.ts";
import type { Tx } from "../tx.ts";

/** An engine needs the key of the store's cursors: there is one from here on. */
export interface InstallCursorKeyCommand {
	op: "installCursorKey";
	/** The key if there is none yet: 32 bytes as lower-case hex digits. */
	secretHex: string;
}

export type InstallCursorKeyOutcome = Outcome<{ did: "kept" | "installed" | "repaired"; secretHex: string }>;

/** The first key stays. Cursors of one that can no longer be read are lost with it. */
export function installCursorKey(tx: Tx, { secretHex }: InstallCursorKeyCommand): InstallCursorKeyOutcome {
	const known = tx.getReadable(CURSOR_KEY);
	if (known && isUsable(known)) return { ok: true, did: "kept", secretHex: known.secretHex };
	tx.put(CURSOR_KEY, makeCursorKey({ secretHex }));
	return { ok: true, did: known ? "repaired" : "installed", secretHex };
}
