import { inspect } from "node:util";

/**
 * What was thrown, in full, for whoever has to find out why: name, message and stack, and the same of its causes. Other
 * properties of an error are left out: clients of HTTP services hang whole requests on theirs, tokens included.
 */
export function errorDetail(thrown: unknown): string {
	try {
		return new Description().of(thrown, 0);
	} catch {
		return NOT_SHOWN;
	}
}

/** Something that was thrown and is no error, as it prints. */
export function printed(value: unknown): string {
	if (typeof value === "string") return value;
	try {
		return inspect(value, { depth: 4, maxArrayLength: 20, maxStringLength: 2000, breakLength: 120 });
	} catch {
		return NOT_SHOWN;
	}
}

/** An error's name and message in one; the name is left out where it says nothing. */
export function headline(error: Error): string {
	const name = nameOf(error);
	const message = String(error.message);
	if (SILENT_NAMES.has(name)) return message;
	return message === "" ? name : `${name}: ${message}`;
}

export const isError = (value: unknown): value is Error => value instanceof Error || isForeignError(value);

/** Cuts text so that it takes at most `most` bytes of UTF-8, and says so; no character is cut in two. */
export function cutToBytes(text: string, most: number): string {
	const bytes = Buffer.from(text);
	if (bytes.byteLength <= most) return text;
	const mark = `\n… cut: ${bytes.byteLength} bytes were too many`;
	let end = most - Buffer.byteLength(mark);
	while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
	return `${bytes.subarray(0, end).toString("utf8")}${mark}`;
}

const NOT_SHOWN = "something that cannot be shown";

/** What everybody's errors are called, and FlowFabric's own, whose category or message says the same. */
const SILENT_NAMES: ReadonlySet<string> = new Set([
	"Error",
	"TerminalError",
	"RetryAfter",
	"WaitTimeout",
	"StepTimeout",
]);

const MOST_DEPTH = 8;
const MOST_ERRORS = 10;
const MOST_MESSAGE = 4096;

/** An error of another realm, such as a sandbox or the runner of a user's tests. */
const isForeignError = (value: unknown): boolean => Object.prototype.toString.call(value) === "[object Error]";

function nameOf({ name }: Error): string {
	return typeof name === "string" && name !== "" ? name : "Error";
}

/** One description; errors that lead back to one another are told once. */
class Description {
	readonly #told = new Set<unknown>();

	of(thrown: unknown, depth: number): string {
		if (!isError(thrown)) return printed(thrown);
		if (this.#told.has(thrown)) return `${titleOf(thrown)} (told above)`;
		if (depth > MOST_DEPTH) return `${titleOf(thrown)} (and what caused it)`;
		this.#told.add(thrown);
		let text = titleOf(thrown) + framesOf(thrown);
		const { errors } = thrown as { errors?: unknown };
		if (Array.isArray(errors)) text += this.#each(errors, depth);
		if (thrown.cause !== undefined) text += `\ncaused by: ${this.of(thrown.cause, depth + 1)}`;
		return text;
	}

	#each(errors: readonly unknown[], depth: number): string {
		const told = errors
			.slice(0, MOST_ERRORS)
			.map((error, n) => `\n  [${n}] ${this.of(error, depth + 1).replaceAll("\n", "\n  ")}`);
		const more = errors.length - told.length;
		return told.join("") + (more > 0 ? `\n  and ${more} more` : "");
	}
}

function titleOf(error: Error): string {
	const message = String(error.message);
	const shown =
		message.length > MOST_MESSAGE
			? `${message.slice(0, MOST_MESSAGE)}… (${message.length} characters)`.toWellFormed()
			: message;
	return shown === "" ? nameOf(error) : `${nameOf(error)}: ${shown}`;
}

/** Where it was thrown. A stack begins with name and message as they were then, which is not what they need be now. */
function framesOf({ stack, message }: Error): string {
	if (typeof stack !== "string") return "";
	const at = stack.indexOf(message);
	const behind = at < 0 || message === "" ? stack : stack.slice(at + message.length);
	const first = /^ *at /m.exec(behind);
	return first ? `\n${behind.slice(first.index).trimEnd()}` : "";
}
