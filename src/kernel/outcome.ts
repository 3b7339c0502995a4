import type { ErrorCode } from "./errors.ts";

/** Refusals are values, not exceptions: a rule that refuses has written nothing. */
export interface Refusal {
	ok: false;
	code: ErrorCode;
	details: Record<string, unknown>;
}

export type Outcome<T extends object = object> = ({ ok: true } & T) | Refusal;

export const refuse = (code: ErrorCode, details: Record<string, unknown> = {}): Refusal => ({
	ok: false,
	code,
	details,
});
