import { readFileSync } from "node:fs";
import { LISTING, logSubject, MOST_NEWS, PARTS, TIME_TOLERANCE_MS, TURN_MS } from "../port.ts";
import { COMMIT_ARGS, LENGTH_WIDTH, UNIT_WIDTH, VERSION_WIDTH } from "./commit-call.ts";
import { FUNCTIONS, type FunctionName, functionName } from "./function-names.ts";
import { FIXED_KEYS } from "./partition-keys.ts";

/**
 * A server that is full refuses every function that does not say it may run all the same. `start`, which commits what
 * starts work, does not say so. Those that read are not called reading ones: a primary that has been demoted would answer
 * them with what was.
 */
function registration(name: FunctionName): string {
	const does = name === "start" ? "callback = commit" : `callback = ${name}, flags = { 'allow-oom' }`;
	return `redis.register_function{ function_name = '${functionName(name)}', ${does} }`;
}

/** What the functions share with the program that calls them. */
const constants: Record<string, string | number> = {
	...placesOf(FIXED_KEYS),
	FIXED_KEYS: FIXED_KEYS.length,
	...placesOf(COMMIT_ARGS),
	FIXED_ARGS: COMMIT_ARGS.length,
	WIDTH: VERSION_WIDTH,
	VERSION_FORM: `%0${VERSION_WIDTH}d`,
	ABSENT: "0".repeat(VERSION_WIDTH),
	UNIT_WIDTH,
	LENGTH_WIDTH,
	TOLERANCE_MS: TIME_TOLERANCE_MS,
	TURN_MS,
	LOG_SUBJECT: logSubject(""),
	NEWS_RECORDS: MOST_NEWS.records,
	NEWS_CHARS: MOST_NEWS.chars,
	LISTING,
	PARTS,
};

/** Places count from 1 in Lua. */
function placesOf(names: readonly string[]): Record<string, number> {
	const constant = (name: string): string => name.replace(/[A-Z]/g, "_$&").toUpperCase();
	return Object.fromEntries(names.map((name, place) => [constant(name), place + 1]));
}

/** The whole library, as it is given to a server. */
export const LIBRARY = [
	"#!lua name=flowfabric",
	...Object.entries(constants).map(
		([name, value]) => `local ${name} = ${typeof value === "string" ? `'${value}'` : value}`,
	),
	readFileSync(new URL("./functions.lua", import.meta.url), "utf8"),
	...FUNCTIONS.map(registration),
	"",
].join("\n");
