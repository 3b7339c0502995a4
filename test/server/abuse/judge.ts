import { ERRORS } from "../../../src/kernel/errors.ts";
import type { Answer } from "./strike.ts";

/** Stands in everything the second tenant keeps to itself. */
export const SECRET = "the neighbour's own";

/** Not failures: the store is busy or gone, or something took too long. */
const ALLOWED = [503, 504];

/** What is wrong with an answer: every refusal has the one form, a code of the table and that code's status. */
export function problemWith({ status, headers, text }: Answer, isBound: boolean): string | undefined {
	if (isBound && text.includes(SECRET)) return "told of another tenant's work";
	if (status >= 500 && !ALLOWED.includes(status)) return `answered ${status}`;
	if (status < 400) return undefined;
	if (!headers["content-type"]?.startsWith("application/json")) return "a refusal that is not JSON";
	let error: { code?: string; message?: string; retryable?: boolean } | undefined;
	try {
		({ error } = JSON.parse(text) as { error?: typeof error });
	} catch {
		return "a refusal that cannot be parsed";
	}
	const row = ERRORS[error?.code as keyof typeof ERRORS];
	if (!row) return `an unknown code ${error?.code}`;
	if (row.status !== status) return `${error?.code} with status ${status} instead of ${row.status}`;
	if (!error?.message || error.retryable !== row.retryable) return "a refusal without its message or retryable";
	return undefined;
}
