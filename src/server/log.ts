import pino, { type Logger } from "pino";
import { harmlessLog, WRITES_HARMLESS, writesHarmless } from "../contract/harmless-lines.ts";
import { harmless } from "../contract/harmless-text.ts";
import { prettyLines } from "./pretty-log.ts";

/** A pino logger. */
export type ServerLog = Logger;

/** What a server needs of one. */
export type ServerLines = Pick<ServerLog, "debug" | "info" | "warn" | "error" | "isLevelEnabled">;

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

/** A logger for a server; it shows no tokens, and nothing that others wrote does harm in its lines. */
export function makeLog({ level = "info", pretty = false, write }: LogOptions = {}): ServerLog {
	const options = { level, redact: { paths: SECRETS, censor: "[redacted]" } };
	const put = pretty ? prettyLines(write ?? toScreen, !write && process.stdout.isTTY) : (write ?? toStandardOutput());
	const log = pino(options, { write: (line) => put(harmless(line)) });
	return Object.assign(log, { [WRITES_HARMLESS]: true });
}

const toScreen = (text: string): void => void process.stdout.write(text);

function toStandardOutput(): (line: string) => void {
	const destination = pino.destination(1);
	return (line) => destination.write(line);
}

export const silentLog = (): ServerLog => pino({ level: "silent" });

/** A logger of one's own, with lines and fields in which nothing can do harm. */
export function plainLog(log: ServerLog): ServerLines {
	if (writesHarmless(log)) return log;
	return { ...harmlessLog(log), isLevelEnabled: (level) => log.isLevelEnabled(level) };
}
