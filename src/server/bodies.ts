import { isUtf8 } from "node:buffer";
import type { FastifyInstance } from "fastify";
import { invalid } from "./errors.ts";

/** How large bodies may be, by kind of route. */
export const BODY_LIMIT = 1.5 * 1024 * 1024;
export const CONTROL_LIMIT = 64 * 1024;
/** A detail of control characters takes six times its room in JSON. */
export const FAIL_LIMIT = 128 * 1024;
export const SIGNAL_LIMIT = 256 * 1024;
export const RENEW_LIMIT = 256 * 1024;
export const JOINT_LIMIT = 32 * 1024 * 1024;

/** Deeper JSON is refused: everything that walks values may do so by recursion. */
export const MAX_NESTING = 512;

/**
 * Bodies are JSON and nothing else. A key named `__proto__` is data like any other: it stays an own property. What only
 * a joint body can be as large as is left as bytes: parsed whole, the smallest items of it would take seconds and a
 * gigabyte. See `joint-bodies.ts`.
 */
export function parseBodies(app: FastifyInstance): void {
	app.removeAllContentTypeParsers();
	app.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_request, body, done) => {
		if (body.length === 0) return done(null, undefined);
		try {
			if (!isUtf8(body)) throw invalid("body", "must be UTF-8");
			done(null, body.length > BODY_LIMIT ? body : parseJson(body));
		} catch (error) {
			done(error as Error);
		}
	});
}

/** Bodies are taken as they are, whatever they are. */
export function takeBytes(app: FastifyInstance): void {
	app.removeAllContentTypeParsers();
	app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

function parseJson(body: Buffer): unknown {
	if (isTooDeep(body)) throw tooDeep("body");
	try {
		return JSON.parse(body.toString());
	} catch (error) {
		throw notJson("body", error);
	}
}

export const tooDeep = (field: string) => invalid(field, `must not be nested deeper than ${MAX_NESTING} levels`);

export const notJson = (field: string, error: unknown) =>
	invalid(field, `is not JSON: ${(error as Error).message.slice(0, 120)}`);

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

/** Counted on the bytes, before anything is built from them. */
function isTooDeep(body: Buffer): boolean {
	// Every level takes two characters.
	if (body.length < 2 * MAX_NESTING) return false;
	let depth = 0;
	for (let at = 0; at < body.length; at++) {
		const byte = body[at];
		if (byte === QUOTE) at = endOfString(body, at);
		else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
			if (++depth > MAX_NESTING) return true;
		} else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) depth -= 1;
	}
	return false;
}

/** Native search from quote to quote: most of a large body is strings. */
function endOfString(body: Buffer, start: number): number {
	let end = body.indexOf(QUOTE, start + 1);
	while (end !== -1) {
		let backslashes = 0;
		while (body[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
		if (backslashes % 2 === 0) return end;
		end = body.indexOf(QUOTE, end + 1);
	}
	return body.length;
}
