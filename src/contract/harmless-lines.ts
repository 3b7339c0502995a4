import { harmless } from "./harmless-text.ts";

/** Lines with fields, made harmless before any logger gets them. */

/** A logger with this mark writes out itself what could do harm: doing so twice would spoil what was written. */
export const WRITES_HARMLESS = Symbol.for("flowfabric.writesHarmless");

export const writesHarmless = (log: object): boolean => WRITES_HARMLESS in log;

/** Text with lines: all but the first are indented, so that none passes for a line of its own. Those of a stack are already. */
export const harmlessLines = (text: string): string => harmless(text).replace(/\n(?! )/g, "\n    ");

const MOST_DEPTH = 50;

/**
 * Whatever is logged beside a message. What holds nothing harmful stays the very same, so that a logger's own way of
 * writing it works as before. Lists, plain objects and errors are looked into; objects of a class are their logger's.
 */
export function harmlessFields<T>(value: T, depth = 0): T {
	if (typeof value === "string") return harmless(value) as T;
	if (typeof value !== "object" || value === null) return value;
	// Something within itself ends here too.
	if (depth > MOST_DEPTH) return "…" as T;
	if (Array.isArray(value)) {
		const items = value.map((item) => harmlessFields(item, depth + 1));
		return items.every((item, n) => item === value[n]) ? value : (items as T);
	}
	if (value instanceof Error) return harmlessError(value, depth) as T;
	const prototype = Object.getPrototypeOf(value);
	if (prototype !== Object.prototype && prototype !== null) return value;
	let isSame = true;
	const fields = Object.entries(value).map(([name, field]) => {
		const [shownName, shown] = [harmless(name), harmlessFields(field, depth + 1)];
		isSame &&= shownName === name && shown === field;
		return [shownName, shown] as const;
	});
	return isSame ? value : (Object.fromEntries(fields) as T);
}

/** An error like it, of the same class: loggers write errors in their own way. */
function harmlessError(error: Error, depth: number): Error {
	const names = new Set(["message", "stack", ...Object.getOwnPropertyNames(error)]);
	const changed: PropertyDescriptorMap = {};
	for (const name of names) {
		const given = (error as unknown as Record<string, unknown>)[name];
		// Loggers take the message for that of the line, and write a stack as it is.
		const isText = (name === "message" || name === "stack") && typeof given === "string";
		const value = isText ? harmlessLines(given) : harmlessFields(given, depth + 1);
		if (value !== given) {
			const enumerable = Object.getOwnPropertyDescriptor(error, name)?.enumerable ?? false;
			changed[name] = { value, enumerable, configurable: true, writable: true };
		}
	}
	if (Object.keys(changed).length === 0) return error;
	const own = Object.getOwnPropertyDescriptors(error);
	return Object.create(Object.getPrototypeOf(error), { ...own, ...changed }) as Error;
}

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

/** A message, or fields and a message, as pino takes them. */
type Call = (said: never, ...more: never[]) => void;

const harmlessPart = (said: unknown): unknown =>
	typeof said === "string" ? harmlessLines(said) : harmlessFields(said);

/** The levels of a logger that takes fields, for text and fields that may do harm. */
export function harmlessLog<L extends Record<Level, Call>>(log: L): Pick<L, Level> {
	if (writesHarmless(log)) return log;
	const call =
		(level: Level) =>
		(said: unknown, message?: unknown): void => {
			const write = log[level].bind(log) as (said: unknown, message?: unknown) => void;
			if (message === undefined) write(harmlessPart(said));
			else write(harmlessPart(said), harmlessPart(message));
		};
	return Object.fromEntries(LEVELS.map((level) => [level, call(level)])) as unknown as Pick<L, Level>;
}
