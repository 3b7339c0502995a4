/** What an error of the driver or the server means for the call that met it. */
export type Fault =
	/** Another node has this slot, for good or while it migrates. */
	| { kind: "moved" | "asked"; address: string }
	/** Nothing was done; the same call will be served in a while. */
	| { kind: "later" }
	/** Nothing was done, as the server cannot be written: it may have been demoted. */
	| { kind: "read_only" }
	/** Nothing was done: the server does not have the function. */
	| { kind: "no_function" }
	/** Nothing was done, and trying again will not help. */
	| { kind: "refused" }
	/** A key holds something else than was put there: nothing can be done with it, now or later. */
	| { kind: "damaged" }
	/** It was sent and no answer came: it may have been done. */
	| { kind: "lost" }
	/** The server failed over it, perhaps half-way; trying again will not help. */
	| { kind: "broken" };

const REDIRECTED = /^(MOVED|ASK) \d+ (.+)$/;
const LATER = /^(?:TRYAGAIN|LOADING|CLUSTERDOWN|MASTERDOWN|BUSY|NOREPLICAS)\b/;
const REFUSED = /^(?:OOM|NOAUTH|WRONGPASS|NOPERM|MISCONF|EXECABORT|CROSSSLOT)\b/;
/** A function's error has the line it came from in front. */
const WRONG_TYPE = /^(?:ERR .*)?WRONGTYPE\b/s;
const NOT_SENT = /^Stream isn't writeable/;
const NO_FUNCTION = /^ERR Function not found/;

/** Thrown instead of sending, while there is no connection. */
export class NotConnected extends Error {
	override name = "NotConnected";
}

export function faultOf(error: unknown): Fault {
	if (error instanceof NotConnected) return { kind: "later" };
	const message = error instanceof Error ? error.message : String(error);
	if (NOT_SENT.test(message)) return { kind: "later" };
	if (!(error instanceof Error) || error.name !== "ReplyError") return { kind: "lost" };
	const [, word, address] = REDIRECTED.exec(message) ?? [];
	if (address !== undefined) return { kind: word === "MOVED" ? "moved" : "asked", address };
	if (LATER.test(message)) return { kind: "later" };
	if (message.startsWith("READONLY")) return { kind: "read_only" };
	if (NO_FUNCTION.test(message)) return { kind: "no_function" };
	if (WRONG_TYPE.test(message)) return { kind: "damaged" };
	return { kind: REFUSED.test(message) ? "refused" : "broken" };
}

/** What an error says; of a lost connection the driver speaks in words of its own settings. */
export function wordsOf(error: unknown): string {
	if (!(error instanceof Error)) return String(error);
	return error.name === "MaxRetriesPerRequestError" ? "the connection was lost" : error.message;
}

const UNTRUSTED = /^(?:CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The server does not let this user in, or not do this. */
export const isDenied = (error: unknown): boolean =>
	error instanceof Error && /^(?:NOAUTH|WRONGPASS|NOPERM)\b/.test(error.message);

/** Waiting will not help, somebody must change something: we are not let in, or the server's certificate is not good. */
export const isHopeless = (error: unknown): boolean =>
	isDenied(error) || UNTRUSTED.test(String((error as { code?: unknown } | undefined)?.code ?? ""));
