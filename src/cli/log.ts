import { Writable } from "node:stream";
import pino, { type Logger } from "pino";
import pretty from "pino-pretty";
import type { LOG_FORMATS, LOG_LEVELS } from "./settings/server-settings.ts";
import type { Output } from "./terminal.ts";

export interface LogSettings {
	logLevel: (typeof LOG_LEVELS)[number];
	/** Without it: pretty on a terminal, JSON otherwise. */
	logFormat: (typeof LOG_FORMATS)[number] | undefined;
}

/** Log lines to `output`: one JSON document each, or as a person likes to read them. */
export function makeLog({ logLevel, logFormat }: LogSettings, output: Output): Logger {
	const options = { level: logLevel, base: undefined, timestamp: pino.stdTimeFunctions.isoTime };
	const stream = { write: (line: string) => void output.write(line) };
	if (logFormat === "json" || (logFormat === undefined && !output.isTTY)) return pino(options, stream);
	const destination = new Writable({
		write(chunk: Uint8Array, _encoding, done) {
			output.write(chunk);
			done();
		},
	});
	return pino(options, pretty({ colorize: output.isTTY === true, sync: true, destination }));
}
