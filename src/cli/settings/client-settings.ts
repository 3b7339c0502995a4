import type { Setting } from "./setting.ts";
import { httpUrl, token } from "./values.ts";

/** How commands reach a server. */
export const CLIENT_SETTINGS = {
	url: {
		env: "FF_URL",
		flag: "--url <url>",
		about: "address of the server",
		byDefault: "http://127.0.0.1:9090",
		allowed: "must be the http:// or https:// address of a server",
		parse: httpUrl,
	},
	token: {
		env: "FF_TOKEN",
		flag: "--token <token>",
		about: "token to show the server; others on this machine may see a flag, so prefer the variable",
		allowed: "must be 1 to 1024 printable ASCII characters without spaces",
		secret: true,
		parse: token(1),
	},
} as const satisfies Record<string, Setting<unknown>>;
