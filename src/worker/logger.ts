import { inspect } from "node:util";
import { harmlessFields, harmlessLines, harmlessLog, writesHarmless } from "../contract/harmless-lines.ts";
import { errorDetail, isError } from "./error-detail.ts";

/** Where a worker logs; pino and console both fit. */
export interface Logger {
	/** Takes a line for whoever looks for a fault. */
	debug(message: string): void;
	/** Takes a line about what went as it should. */
	info(message: string): void;
	/** Takes a line that somebody should look at. */
	warn(message: string): void;
	/** Takes a line about a fault. */
	error(message: string): void;
	/** A logger whose lines all carry these fields, as pino makes one. Without it lines begin with them in words. */
	child?(fields: Record<string, unknown>): HandlerLog;
}

/** A line, or fields and a line: `log.info({ userId: 7 }, "charged")`, as with pino. An error may stand for the fields. */
export interface LogCall {
	(message: string): void;
	(fields: object, message?: string): void;
}

/** The log of one run of a handler; its lines say which execution and attempt they are about. */
export interface HandlerLog {
	/** Logs for whoever looks for a fault. */
	readonly debug: LogCall;
	/** Logs what went as it should. */
	readonly info: LogCall;
	/** Logs what somebody should look at. */
	readonly warn: LogCall;
	/** Logs a fault. */
	readonly error: LogCall;
}

/** What every line of a run is about. */
export interface RunFields {
	kind: string;
	executionId: string;
	attempt: number;
}

/** What submitters wrote is in many lines: it colours nothing, and no line of it passes for another's. */
const say = (message: string): void => {
	process.stderr.write(`flowfabric: ${harmlessLines(message)}\n`);
};

/** Says only what somebody should look at. */
export const quietLogger: Logger = { debug: () => {}, info: () => {}, warn: say, error: say };

/** The given logger, with lines and fields in which nothing can do harm. */
export function plainLogger(log: Logger): Logger {
	if (writesHarmless(log)) return log;
	return {
		...harmlessLog(log),
		...(log.child
			? { child: (fields) => harmlessLog((log as Required<Logger>).child(harmlessFields(fields))) }
			: undefined),
	};
}

export function logOfRun(log: Logger, { kind, executionId, attempt }: RunFields): HandlerLog {
	if (log.child) return log.child({ kind, executionId, attempt });
	const prefix = `${kind} ${executionId}${attempt === 0 ? "" : ` attempt ${attempt}`}:`;
	const call =
		(level: "debug" | "info" | "warn" | "error"): LogCall =>
		(said: string | object, message?: string) =>
			log[level](`${prefix} ${lineOf(said, message)}`);
	return { debug: call("debug"), info: call("info"), warn: call("warn"), error: call("error") };
}

/** One line for those who take nothing but lines. */
function lineOf(said: string | object, message: string | undefined): string {
	if (typeof said === "string") return said;
	if (isError(said)) return message === undefined ? errorDetail(said) : `${message}: ${errorDetail(said)}`;
	const fields = inspect(said, { depth: 4, breakLength: Number.POSITIVE_INFINITY });
	return message === undefined ? fields : `${message} ${fields}`;
}
