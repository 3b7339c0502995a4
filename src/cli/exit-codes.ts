import { FlowFabricError } from "../contract/errors.ts";
import { SettingError } from "./settings/setting.ts";

/** What the process ends with. Scripts rely on these numbers: they may be added to, never changed. */
export const EXIT_CODES = {
	ok: { code: 0, about: "done" },
	failure: { code: 1, about: "something went wrong that is none of the below" },
	misuse: { code: 2, about: "the command, an argument or a setting is not valid" },
	notFound: { code: 3, about: "there is no such thing" },
	refused: { code: 4, about: "refused: not allowed, a conflict, or not possible in its present state" },
	unreachable: { code: 5, about: "the server or its store cannot be reached, or is not ready" },
	unsuccessful: { code: 6, about: "the work ended, but not successfully (failed, cancelled, expired, skipped)" },
	timeout: { code: 7, about: "the work had not ended when the time to wait was over" },
	stopped: { code: 8, about: "stopped by you before all was done: a question answered with no, or Ctrl-C" },
} as const;

export type ExitName = keyof typeof EXIT_CODES;

/** The command was used wrongly, in a way only the command itself can tell. */
export class MisuseError extends Error {
	override name = "MisuseError";
}

export function exitNameOf(error: unknown): ExitName {
	if (error instanceof MisuseError || error instanceof SettingError) return "misuse";
	if (!(error instanceof FlowFabricError)) return "failure";
	if (error.code === "wait_timeout") return "timeout";
	switch (error.status) {
		case 400:
		case 413:
			return "misuse";
		case 401:
		case 403:
		case 409:
			return "refused";
		case 404:
			return "notFound";
		default:
			return error.retryable ? "unreachable" : "failure";
	}
}
