import { SERVER_ADDRESS_ALLOWED, serverAddress } from "./server-address.ts";

export const PUBLIC_URL_ALLOWED = `${SERVER_ADDRESS_ALLOWED}, as in https://flows.example.org`;

/** Where outsiders reach a server, without slashes at its end; undefined for what cannot stand in front of a path. */
export function publicUrl(text: string): string | undefined {
	if (text.length > 1024 || /\s/.test(text)) return undefined;
	return serverAddress(text)?.href.replace(/\/+$/, "");
}
