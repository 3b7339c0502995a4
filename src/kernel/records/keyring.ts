import { type Key, makeRecord } from "./record.ts";

/** One secret that signs the tokens of waitpoints. */
export interface KeyringKey {
	/** Its name, which stands in front of every token it signed. */
	kid: string;
	/** At least 32 bytes, as lower-case hex digits. */
	secretHex: string;
	installedAt: number;
	/** The kid whose place it took; left out for the first. */
	replaced?: string;
	/** The end of its grace, set when another took its place; left out while it is the current one. */
	expiresAt?: number;
}

/**
 * The secrets of this store, oldest first. One record for all: which one signs, and which still count, changes in one step.
 * They are a list and not a table by kid, since a kid may be called like something that every object has.
 */
export interface KeyringRecord {
	/** The kid that signs. */
	current: string;
	/** The highest number that a minted kid was given, so that none is given twice. */
	minted: number;
	keys: readonly KeyringKey[];
}

export const keyringDefaults: KeyringRecord = { current: "", minted: 0, keys: [] };

export const KEYRING_KEY: Key<KeyringRecord> = "keyring";

/** It lives in the first partition, however many there are. */
export const KEYRING_SLOT = 0;

export const makeKeyring = (fields: Partial<KeyringRecord>): KeyringRecord => makeRecord(keyringDefaults, fields);

/** How long a key is kept after its grace: what it signed is then told apart from what is forged. */
const KEPT_MS = 7 * 86_400_000;

export const keyOf = ({ keys }: KeyringRecord, kid: string): KeyringKey | undefined =>
	keys.find((key) => key?.kid === kid);

/** When a key is to go; 0 as long as nothing took its place. */
export const removalOf = ({ current }: KeyringRecord, key: KeyringKey): number =>
	isWholeKey(key) && key.kid !== current && key.expiresAt !== undefined ? key.expiresAt + KEPT_MS : 0;

/** From 32 bytes, which nobody can guess, to 128, so that a full ring still fits into its record. */
const SECRET_HEX = /^(?:[0-9a-f]{2}){32,128}$/;

/** Printable, so that it can be shown; a dot ends it in a token. */
export const KID = /^[\x21-\x2d\x2f-\x39\x3b-\x7e]{1,32}$/;

/** Whether a key can be used; one that was written by halves can not, whatever is left of it. */
export const isWholeKey = (key: KeyringKey): boolean =>
	typeof key?.secretHex === "string" && SECRET_HEX.test(key.secretHex) && isKid(key.kid);

export const isKid = (kid: unknown): kid is string => typeof kid === "string" && KID.test(kid);

/** Whether the ring can sign, and holds nothing that was written by halves. */
export function isWhole(ring: KeyringRecord): boolean {
	const current = keyOf(ring, ring.current);
	return current !== undefined && current.expiresAt === undefined && ring.keys.every(isWholeKey);
}
