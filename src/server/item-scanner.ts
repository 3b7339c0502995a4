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
const STRIDE = 64 * 1024;
const MOST_NAME_BYTES = 64;

/** How many items a list may hold, and what is said to more if not the usual. */
export interface ListForm {
	most: number;
	refuse?(): Error;
}

/** What a body may look like. */
export interface BodyForm {
	lists: Readonly<Record<string, ListForm>>;
	/** The list that cannot be left out. */
	required: string;
	/** So many bytes of other fields are taken as they are; 0 takes none. */
	mostRest: number;
}

export interface ScannedBody {
	lists: Map<string, ItemPlace[]>;
	/** Other fields, each with its name. */
	rest: ItemPlace[];
}

/**
 * Finds the items of the lists of a body, as of `{"items": […]}`, in its bytes, and builds nothing. More than may be, an
 * unknown field or another form is refused before any item was read. Whether an item is JSON shows when it is parsed.
 */
export class ItemScanner {
	readonly #body: Buffer;
	readonly #form: BodyForm;
	readonly #lists = new Map<string, ItemPlace[]>();
	readonly #rest: ItemPlace[] = [];
	#restBytes = 0;
	#at = 0;
	/** Where others get their turn. */
	#pause = STRIDE;

	constructor(body: Buffer, form: BodyForm) {
		this.#body = body;
		this.#form = form;
	}

	async scan(): Promise<ScannedBody> {
		if (this.#next() !== OPEN_BRACE) throw invalid("request", "must be an object");
		this.#at += 1;
		if (this.#next() !== CLOSE_BRACE) await this.#fields();
		this.#at += 1;
		if (this.#next() !== undefined) throw broken("something stands behind its end");
		const { required } = this.#form;
		if (!this.#lists.has(required)) throw invalid(required, "is required");
		return { lists: this.#lists, rest: this.#rest };
	}

	async #fields(): Promise<void> {
		for (;;) {
			this.#next();
			const start = this.#at;
			const name = this.#name();
			const list = Object.hasOwn(this.#form.lists, name) ? this.#form.lists[name] : undefined;
			if (this.#lists.has(name)) throw invalid(name, "is given twice");
			if (!list && this.#form.mostRest === 0) throw invalid(name, "is not a known field");
			if (this.#next() !== COLON) throw broken(`there is no colon behind ${name}`);
			this.#at += 1;
			if (list) await this.#list(name, list);
			else await this.#other(name, start);
			const behind = this.#next();
			if (behind === CLOSE_BRACE) return;
			if (behind !== COMMA) throw broken(`something stands behind ${name}`);
			this.#at += 1;
		}
	}

	async #other(name: string, start: number): Promise<void> {
		await this.#skipValue();
		const { mostRest } = this.#form;
		this.#restBytes += this.#at - start;
		if (this.#restBytes > mostRest) throw invalid(name, `must be at most ${mostRest} bytes with other fields`);
		this.#rest.push({ start, end: this.#at });
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

	async #list(name: string, { most, refuse }: ListForm): Promise<void> {
		const tooMany = (): Error => refuse?.() ?? invalid(name, `must be an array of at most ${most} items`);
		if (this.#next() !== OPEN_BRACKET) throw invalid(name, `must be an array of at most ${most} items`);
		this.#at += 1;
		const places: ItemPlace[] = [];
		for (let isLast = false; !isLast; this.#at += 1) {
			const start = this.#at;
			await this.#skipValue();
			const end = this.#at;
			isLast = this.#body[end] !== COMMA;
			if (isLast && this.#body[end] !== CLOSE_BRACKET) throw broken(`${name} is closed by something else`);
			if (!isLast || places.length > 0 || !this.#isEmpty(start, end)) places.push({ start, end });
			if (places.length > most) throw tooMany();
		}
		this.#lists.set(name, places);
	}

	#isEmpty(start: number, end: number): boolean {
		let at = start;
		while (at < end && isSpace(this.#body[at])) at += 1;
		return at === end;
	}

	/** Goes to the comma or the bracket behind the value that stands here. */
	async #skipValue(): Promise<void> {
		const body = this.#body;
		let depth = 0;
		let inString = false;
		for (let at = this.#at; at < body.length; at++) {
			if (at > this.#pause) {
				this.#pause = at + STRIDE;
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
				this.#at = at;
				return;
			} else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
				if (--depth >= 0) continue;
				this.#at = at;
				return;
			}
		}
		throw broken("it does not end");
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
