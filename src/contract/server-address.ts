/** Ends a sentence about an address that is not allowed. */
export const SERVER_ADDRESS_ALLOWED = "must be an http:// or https:// address without user, query and fragment";

/**
 * Where a server is, as its clients are told. A user, a password or a token in the query would be shown wherever the
 * server is named. Undefined for what is no such address.
 */
export function serverAddress(text: string): URL | undefined {
	if (!/^https?:\/\/[^?#@]+$/i.test(text) || !URL.canParse(text)) return undefined;
	return new URL(text);
}

const PLAIN = /^(?:[a-z]+:\/\/)?(?:[\w.-]+|\[[\da-f:.]+\])?(?::\d{0,5})?(?:\/[\w./-]*)?$/i;

/**
 * What may be shown of addresses that are refused, with commas between them. Whatever looks like more than names, ports
 * and paths may hold a password or a token, and a password may hold commas: then only what they begin with.
 */
export function shownAddress(text: string): string {
	if (text.split(",").every((each) => PLAIN.test(each.trim()))) return text;
	return `${/^https?:\/\//i.exec(text.trim())?.[0] ?? ""}…`;
}
