import { FlowFabricError } from "../contract/errors.ts";
import { type Fault, wordsOf } from "../engine/fault-log.ts";
import { makeLog, type ServerLog } from "../server/log.ts";
import { prettyLines } from "../server/pretty-log.ts";
import { StoreError } from "../store/port.ts";
import type { LOG_FORMATS, LOG_LEVELS } from "./settings/server-settings.ts";
import type { Output } from "./terminal.ts";

export interface LogSettings {
	logLevel: (typeof LOG_LEVELS)[number];
	/** Without it: pretty on a terminal, JSON otherwise. */
	logFormat: (typeof LOG_FORMATS)[number] | undefined;
}

/** Log lines to `output`: one JSON document each, or as a person likes to read them. */
export function logTo(output: Output, { logLevel, logFormat }: LogSettings): ServerLog {
	if (logFormat === "json" || (logFormat === undefined && !output.isTTY)) {
		return makeLog({ level: logLevel, write: (line) => void output.write(line) });
	}
	return makeLog({ level: logLevel, write: prettyLines((text) => void output.write(text), output.isTTY === true) });
}

/** What an engine tells of faults, as log lines. Only a mistake of the program itself is shown with where it was made. */
export function logFault(log: ServerLog, { about, error, count, subjects }: Fault): void {
	const isOurs = !(error instanceof Error) || error instanceof FlowFabricError || error instanceof StoreError;
	log.warn(
		{
			...(count > 0 ? { count } : undefined),
			...(subjects.length > 0 ? { subjects } : undefined),
			...(error === undefined ? undefined : isOurs ? { error: wordsOf(error) } : { err: error }),
		},
		about,
	);
}
