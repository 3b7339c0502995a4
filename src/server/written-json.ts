import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";

/** Characters that are written before others get their turn. */
export const CHARS_PER_TURN = 128 * 1024;
/** About so many characters are written as one. */
const SMALL = 4096;
/** Down to here a large value is taken apart. */
const DEPTH = 6;

export const JSON_TYPE = "application/json; charset=utf-8";

/**
 * The text that `JSON.stringify` would write, in parts: a large value is taken apart, so that others can come in between
 * however large it is.
 */
export function* jsonTexts(value: unknown, depth = DEPTH): Generator<string> {
	if (depth === 0 || typeof value !== "object" || value === null || isSmall(value)) {
		yield JSON.stringify(value) ?? "null";
	} else if (Array.isArray(value)) {
		yield "[";
		for (let from = 0; from < value.length; ) {
			const to = endOfRun(value, from);
			if (from > 0) yield ",";
			if (to > from) yield JSON.stringify(value.slice(from, to)).slice(1, -1);
			else yield* jsonTexts(value[from], depth - 1);
			from = Math.max(to, from + 1);
		}
		yield "]";
	} else {
		const entries = Object.entries(value).filter(([, member]) => member !== undefined);
		const members = entries.map(([, member]) => member);
		yield "{";
		for (let from = 0; from < entries.length; ) {
			const to = endOfRun(members, from);
			if (from > 0) yield ",";
			if (to > from) yield JSON.stringify(Object.fromEntries(entries.slice(from, to))).slice(1, -1);
			else {
				yield `${JSON.stringify(entries[from]?.[0])}:`;
				yield* jsonTexts(members[from], depth - 1);
			}
			from = Math.max(to, from + 1);
		}
		yield "}";
	}
}

/** Behind the small values from here on that are written as one; where it begins if the first is large. */
function endOfRun(values: readonly unknown[], from: number): number {
	let left = SMALL;
	let to = from;
	for (; to < values.length; to++) {
		left = roomBeside(values[to], left);
		if (left <= 0) break;
	}
	return to;
}

const isSmall = (value: object): boolean => roomBeside(value, SMALL) > 0;

/** What is left of so much room; looks no further once there is none. */
function roomBeside(value: unknown, room: number): number {
	if (typeof value === "string") return room - value.length;
	let left = room - 8;
	if (typeof value !== "object" || value === null) return left;
	if (Array.isArray(value)) {
		for (let n = 0; n < value.length && left > 0; n++) left = roomBeside(value[n], left);
		return left;
	}
	for (const key in value) {
		if (left <= 0) break;
		left = roomBeside((value as Record<string, unknown>)[key], left - key.length);
	}
	return left;
}

/** Texts put together to pieces, each written in a turn of its own. */
async function* inTurns(texts: Iterable<string>): AsyncGenerator<string> {
	let piece = "";
	for (const text of texts) {
		piece += text;
		if (piece.length < CHARS_PER_TURN) continue;
		yield piece;
		piece = "";
		await new Promise(setImmediate);
	}
	if (piece !== "") yield piece;
}

/** Answers with a value that may be large, written in turns and as fast as its reader takes it. */
export function sendInTurns(reply: FastifyReply, value: object): FastifyReply {
	const text = Readable.from(inTurns(jsonTexts(value)), { objectMode: false, highWaterMark: 64 * 1024 });
	return reply.type(JSON_TYPE).send(text);
}
