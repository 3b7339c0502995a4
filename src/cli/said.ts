import type { SignalReply, WaitpointView } from "../contract/replies.ts";
import { MisuseError } from "./exit-codes.ts";

/** What somebody has to say to suspended work, given as an argument: JSON, or text. */
export function payloadOf(argument: string | undefined, isText: boolean | undefined): { payload?: unknown } {
	if (argument === undefined) return {};
	if (isText) return { payload: argument };
	try {
		return { payload: JSON.parse(argument) };
	} catch {
		throw new MisuseError("payload: must be JSON; use --text for plain text");
	}
}

/** What became of a signal, in words. */
export const EFFECTS: Record<SignalReply["effect"], string> = {
	resumed: "goes on",
	appended: "waits for more",
	appended_duplicate: "had one like it already, and waits for another",
	ignored: "does not wait for that",
	buffered: "is told of it when it waits",
};

/** What is waited for instead, for whoever sent something else. */
export function waitedFor(waitpoints: readonly WaitpointView[]): string {
	return waitpoints
		.filter(({ state }) => state === "active")
		.map(({ key, requiredSignalNames }) => `${requiredSignalNames.join(" or ") || "any signal"} at ${key}`)
		.join(", ");
}
