import { type Key, makeRecord } from "./record.ts";

/** What the cursors of this store are encrypted with. It is never rotated: cursors are kept for as long as readers like. */
export interface CursorKeyRecord {
	/** 32 bytes, as lower-case hex digits. */
	secretHex: string;
}

export const cursorKeyDefaults: CursorKeyRecord = { secretHex: "" };

export const CURSOR_KEY: Key<CursorKeyRecord> = "cursors";

/** It lives in the first partition, however many there are. */
export const CURSOR_KEY_SLOT = 0;

export const makeCursorKey = (fields: Partial<CursorKeyRecord>): CursorKeyRecord =>
	makeRecord(cursorKeyDefaults, fields);

/** Whether it can be used; one that was written by halves can not. */
export const isUsable = ({ secretHex }: CursorKeyRecord): boolean => /^[0-9a-f]{64}$/.test(secretHex);
