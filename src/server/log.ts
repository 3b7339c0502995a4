import pino, { type Logger } from "pino";

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

export interface LogOptions {
	level?: string;
	/** For people instead of programs. */
	pretty?: boolean;
	/** Where lines go instead of standard output. */
	write?: (line: string) => void;
}

export function makeLog({ level = "info", pretty = false, write }: LogOptions = {}): ServerLog {
	const options = { level, redact: { paths: SECRETS, censor: "[redacted]" } };
	if (write) return pino(options, { write });
	if (!pretty) return pino(options);
	return pino({ ...options, transport: { target: "pino-pretty", options: { ignore: "pid,hostname" } } });
}

export const silentLog = (): ServerLog => pino({ level: "silent" });
