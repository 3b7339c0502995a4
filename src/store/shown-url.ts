/** A URL for people. Of a store's nothing is left that may be a password: some write it in place of the user. */
export function withoutPassword(url: string): string {
	return url.replace(/^((?:valkey|redis)s?:\/\/).*@/is, "$1***@").replace(/^([a-z+]+:\/\/[^/@:]*):.*@/is, "$1:***@");
}

/**
 * What may be shown of a URL that is refused: whatever is wrong with it, a part of it may be a password. A file has none,
 * and what is only a name does not look like one.
 */
export function shownUrl(url: string): string {
	const isPlain = /^(?!(?:valkey|redis)s?:)[\w./+-]*(?::(?:\/\/)?[\w.-]*)?$/i.test(url);
	if (isPlain || url.startsWith("sqlite:")) return url;
	return `${/^[a-z][a-z+]*:(?:\/\/)?/i.exec(url)?.[0] ?? ""}…`;
}
