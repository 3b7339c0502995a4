/** A URL for people. Of a store's nothing is left that may be a password: some write it in place of the user. */
export function withoutPassword(url: string): string {
	return url.replace(/^((?:valkey|redis)s?:\/\/).*@/is, "$1***@").replace(/^([a-z+]+:\/\/[^/@:]*):.*@/is, "$1:***@");
}

/** What may be shown of a URL that is refused: whatever is wrong with it, a part of it may be a password. */
export function shownUrl(url: string): string {
	const mayHoldPassword = !url.startsWith("sqlite:") && /[@?#=,]|:.*:/s.test(url);
	return mayHoldPassword ? `${/^[a-z][a-z+]*:(?:\/\/)?/i.exec(url)?.[0] ?? ""}…` : url;
}
