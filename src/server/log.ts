import pino, { type Logger } from "pino";

/** A pino logger. */
export type ServerLog = Logger;

/** Secrets have no place in a log, whoever puts a request or a header into a line. */
const SECRETS = [
	"authorization",
	"*.authorization",
	"headers.authorization",
	"req.headers.authorization",
	"token",
	"*.token",
];

/** What is logged, how, and where it goes. */
export interface LogOptions {
	/** The lowest level that is logged (`info`). */
	level?: string;
	/** For people instead of programs (false). */
	pretty?: boolean;
	/** Where lines go (standard output). */
	write?: (line: string) => void;
}

/** A logger for a server; it shows no tokens. */
export function makeLog({ level = "info", pretty = false, write }: LogOptions = {}): ServerLog {
	const options = { level, redact: { paths: SECRETS, censor: "[redacted]" } };
	if (write) return pino(options, { write });
	if (!pretty) return pino(options);
	return pino({ ...options, transport: { target: "pino-pretty", options: { ignore: "pid,hostname" } } });
}

export const silentLog = (): ServerLog => pino({ level: "silent" });
