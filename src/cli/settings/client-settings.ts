import { SERVER_ADDRESS_ALLOWED, shownAddress } from "../../contract/server-address.ts";
import type { Setting } from "./setting.ts";
import { httpUrls, token } from "./values.ts";

/** How commands reach a server. */
export const CLIENT_SETTINGS = {
	url: {
		env: "FF_URL",
		flag: "--url <url>",
		about: "address of the server, or of several servers of one store, separated by commas",
		byDefault: "http://127.0.0.1:9090",
		allowed: `${SERVER_ADDRESS_ALLOWED}, or several separated by commas`,
		shown: shownAddress,
		parse: httpUrls,
	},
	token: {
		env: "FF_TOKEN",
		flag: "--token <token>",
		about: "token for the server; better set as a variable, since other users of this machine can see flags",
		allowed: "must be 1 to 1024 printable ASCII characters without spaces",
		secret: true,
		parse: token(1),
	},
} as const satisfies Record<string, Setting<unknown>>;
