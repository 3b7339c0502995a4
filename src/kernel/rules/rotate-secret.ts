import { type Outcome, refuse } from "../outcome.ts";
import { earliest } from "../placement.ts";
import {
	isKid,
	isWhole,
	isWholeKey,
	KEYRING_KEY,
	type KeyringKey,
	type KeyringRecord,
	keyOf,
	makeKeyring,
	removalOf,
} from "../records/keyring.ts";
import { amend } from "../records/record.ts";
import type { TickCommand, TickOutcome } from "../ticking.ts";
import type { Tx } from "../tx.ts";

/** Keys a ring may hold, so that it fits into one record. */
export const MOST_KEYS = 128;

/** An engine starts: there is a ring that can sign from here on. */
export interface InstallKeyringCommand {
	op: "installKeyring";
	/** What signs if nothing does yet, as lower-case hex digits. */
	secretHex: string;
	/** Whether somebody chose that secret; else it was drawn. */
	isGiven: boolean;
}

export type InstallKeyringOutcome = Outcome<{
	did: "kept" | "installed" | "repaired";
	kid: string;
	/** A secret was given, and another is in use. */
	isOther: boolean;
}>;

/** A ring that is there stays as it is. What was written by halves is made whole, in place. */
export function installKeyring(
	tx: Tx,
	{ secretHex, isGiven }: InstallKeyringCommand,
	now: number,
): InstallKeyringOutcome {
	// One that cannot be read at all has no secret that anybody could use.
	const known = tx.getReadable(KEYRING_KEY);
	if (known && isWhole(known)) {
		const isOther = isGiven && keyOf(known, known.current)?.secretHex !== secretHex;
		return { ok: true, did: "kept", kid: known.current, isOther };
	}
	const ring = amend(known ?? makeKeyring({}), { keys: known?.keys.filter(isWholeKey) ?? [] });
	const { expiresAt: _, ...standing } = keyOf(ring, ring.current) ?? {
		kid: isKid(ring.current) ? ring.current : nextKid(ring),
		secretHex,
		installedAt: now,
	};
	tx.put(
		KEYRING_KEY,
		amend(ring, {
			current: standing.kid,
			minted: Math.max(ring.minted, numberOf(standing.kid)),
			keys: [...ring.keys.filter(({ kid }) => kid !== standing.kid), standing],
		}),
	);
	const isOther = isGiven && standing.secretHex !== secretHex;
	return { ok: true, did: known ? "repaired" : "installed", kid: standing.kid, isOther };
}

/** Another key signs from now on. */
export interface RotateSecretCommand {
	op: "rotateSecret";
	/** The next number when left out. */
	kid?: string;
	/** As lower-case hex digits; the one drawn when left out. */
	secretHex?: string;
	drawnSecretHex: string;
	/** How long what the former key signed is still taken. */
	graceMs: number;
}

export type RotateSecretOutcome = Outcome<{ kid: string; previousKid?: string; previousExpiresAt?: number }>;

/**
 * A rotation that was made already is answered as it was then: a caller who did not hear the answer may ask again. Without
 * a kid the secret tells which one it was.
 */
export function rotateSecret(tx: Tx, command: RotateSecretCommand, now: number): RotateSecretOutcome {
	const { kid, secretHex, drawnSecretHex, graceMs } = command;
	const ring = tx.get(KEYRING_KEY) ?? makeKeyring({});
	const known = kid === undefined ? ring.keys.find((key) => key.secretHex === secretHex) : keyOf(ring, kid);
	if (known) {
		const isSame = secretHex === undefined || secretHex === known.secretHex;
		return isSame ? { ok: true, ...told(ring, known) } : refuse("rotation_conflict", { kid: known.kid });
	}
	if (ring.keys.length >= MOST_KEYS) return refuse("too_many_keys", { max: MOST_KEYS });
	const former = keyOf(ring, ring.current);
	const key: KeyringKey = {
		kid: kid ?? nextKid(ring),
		secretHex: secretHex ?? drawnSecretHex,
		installedAt: now,
		...(former ? { replaced: former.kid } : undefined),
	};
	const rotated = amend(ring, {
		current: key.kid,
		minted: Math.max(ring.minted, numberOf(key.kid)),
		keys: [...ring.keys.map((each) => (each === former ? { ...each, expiresAt: now + graceMs } : each)), key],
	});
	tx.put(KEYRING_KEY, rotated);
	return { ok: true, ...told(rotated, key) };
}

/** Keys whose time is over go; the current one has none. */
export function tickKeyring(tx: Tx, _command: TickCommand, now: number): TickOutcome {
	const ring = tx.get(KEYRING_KEY);
	if (!ring) return { ok: true };
	const isOver = (at: number): boolean => at > 0 && at <= now;
	const kept = ring.keys.filter((key) => !isOver(removalOf(ring, key)));
	if (kept.length === ring.keys.length) {
		const early = earliest(kept.map((key) => removalOf(ring, key)));
		return early > 0 ? { ok: true, early } : { ok: true };
	}
	tx.put(KEYRING_KEY, amend(ring, { keys: kept }));
	return { ok: true, duty: "secret_removal" };
}

function told(ring: KeyringRecord, { kid, replaced }: KeyringKey) {
	const previous = replaced === undefined ? undefined : keyOf(ring, replaced);
	return {
		kid,
		...(replaced === undefined ? undefined : { previousKid: replaced }),
		...(previous?.expiresAt === undefined ? undefined : { previousExpiresAt: previous.expiresAt }),
	};
}

/** Kids that somebody chose may look like minted ones: their numbers are not given again either. */
function nextKid(ring: KeyringRecord): string {
	let number = ring.minted + 1;
	while (keyOf(ring, `k${number}`)) number += 1;
	return `k${number}`;
}

function numberOf(kid: string): number {
	const digits = /^k([1-9]\d{0,14})$/.exec(kid)?.[1];
	return digits === undefined ? 0 : Number(digits);
}
