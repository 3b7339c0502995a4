/** A store's URL without the password in it. */
export function withoutPassword(url: string): string {
	return url.replace(/^([a-z+]+:\/\/[^/@:]*):.*@/is, "$1:***@");
}
