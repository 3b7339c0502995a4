import { MAX_NESTING, notJson, tooDeep } from "./bodies.ts";
import { invalid } from "./errors.ts";

/** Where an item stands in a body. */
export interface ItemPlace {
	start: number;
	end: number;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Bytes looked at before others get their turn. */
const STRIDE = 512 * 1024;
const MOST_NAME_BYTES = 64;

/**
 * Finds the items of `{"items": […]}` in its bytes, and builds nothing. More than may be, another field or another form
 * is refused before any item was read. Whether an item is JSON shows when it is parsed.
 */
export class ItemScanner {
	readonly #body: Buffer;
	readonly #most: number;
	readonly #places: ItemPlace[] = [];
	#at = 0;

	constructor(body: Buffer, most: number) {
		this.#body = body;
		this.#most = most;
	}

	async scan(): Promise<ItemPlace[]> {
		if (this.#next() !== OPEN_BRACE) throw invalid("request", "must be an object");
		this.#at += 1;
		if (this.#next() === CLOSE_BRACE) throw invalid("items", "is required");
		this.#enterItems();
		await this.#findItems();
		const behind = this.#next();
		this.#at += 1;
		if (behind === COMMA) throw invalid(this.#name(), "is not a known field, or is given twice");
		if (behind !== CLOSE_BRACE || this.#next() !== undefined) throw broken("something stands behind its items");
		return this.#places;
	}

	/** Passes `"items": [`. */
	#enterItems(): void {
		const name = this.#name();
		if (name !== "items") throw invalid(name, "is not a known field");
		if (this.#next() !== COLON) throw broken("there is no colon behind items");
		this.#at += 1;
		if (this.#next() !== OPEN_BRACKET) throw this.#notSoMany();
		this.#at += 1;
	}

	/** The name that stands here; a long one is none that is known, and told as far as it is recognised. */
	#name(): string {
		if (this.#next() !== QUOTE) throw broken("a field has no name");
		const start = this.#at + 1;
		const end = this.#body.subarray(0, start + MOST_NAME_BYTES).indexOf(QUOTE, start);
		if (end === -1) return `${this.#body.toString("utf8", start, start + MOST_NAME_BYTES)}…`;
		this.#at = end + 1;
		return this.#body.toString("utf8", start, end);
	}

	async #findItems(): Promise<void> {
		const body = this.#body;
		let depth = 0;
		let inString = false;
		let start = this.#at;
		let pause = this.#at + STRIDE;
		for (let at = this.#at; at < body.length; at++) {
			if (at > pause) {
				pause = at + STRIDE;
				await new Promise(setImmediate);
			}
			if (inString) {
				// Native search from quote to quote: most of a large body is strings.
				at = body.indexOf(QUOTE, at);
				if (at === -1) break;
				inString = isEscaped(body, at);
				continue;
			}
			const byte = body[at];
			if (byte === QUOTE) inString = true;
			else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
				// The list and what it stands in are two.
				if (++depth > MAX_NESTING - 2) throw tooDeep("body");
			} else if (byte === COMMA && depth === 0) {
				this.#found(start, at);
				start = at + 1;
			} else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
				if (--depth >= 0) continue;
				this.#at = start;
				if (this.#places.length > 0 || this.#next() !== CLOSE_BRACKET || this.#at !== at) this.#found(start, at);
				this.#at = at + 1;
				return;
			}
		}
		throw broken("its items do not end");
	}

	#found(start: number, end: number): void {
		this.#places.push({ start, end });
		if (this.#places.length > this.#most) throw this.#notSoMany();
	}

	#notSoMany(): Error {
		return invalid("items", `must be an array of at most ${this.#most} items`);
	}

	/** The next byte that is no white space; undefined at the end. */
	#next(): number | undefined {
		const body = this.#body;
		while (isSpace(body[this.#at])) this.#at += 1;
		return body[this.#at];
	}
}

const broken = (why: string): Error => notJson("body", new Error(why));

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Whether a quote inside a string is part of it. */
function isEscaped(body: Buffer, quote: number): boolean {
	let backslashes = 0;
	while (body[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
	return backslashes % 2 === 1;
}
