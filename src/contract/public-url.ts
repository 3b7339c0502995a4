export const PUBLIC_URL_ALLOWED =
	"must be an http:// or https:// address without user, query and fragment, as in https://flows.example.org";

/** Where outsiders reach a server, without slashes at its end; undefined for what cannot stand in front of a path. */
export function publicUrl(text: string): string | undefined {
	if (text.length > 1024 || !/^https?:\/\/[^\s?#@]+$/.test(text) || !URL.canParse(text)) return undefined;
	return new URL(text).href.replace(/\/+$/, "");
}
