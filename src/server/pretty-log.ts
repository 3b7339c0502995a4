import { Writable } from "node:stream";
import pretty from "pino-pretty";
import { harmless, oneLine } from "../contract/harmless-text.ts";

/** Takes lines of JSON and writes them as a person likes to read them. */
export function prettyLines(write: (text: string) => void, colours: boolean): (line: string) => void {
	const destination = new Writable({
		write(chunk: Uint8Array, _encoding, done) {
			write(Buffer.from(chunk).toString());
			done();
		},
	});
	const readable = pretty({ colorize: colours, ignore: "pid,hostname", sync: true, destination });
	return (line) => void readable.write(`${JSON.stringify(shown(JSON.parse(line)))}\n`);
}

/** Before it is coloured, for afterwards nobody can tell its own escapes from those that somebody wrote. */
function shown(value: unknown, name = ""): unknown {
	if (typeof value === "string") return name === "msg" ? oneLine(value) : harmless(value);
	if (Array.isArray(value)) return value.map((each) => shown(each));
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [oneLine(key), shown(each, key)]));
}
