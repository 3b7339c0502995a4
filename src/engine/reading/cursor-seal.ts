import {
	createCipheriv,
	createDecipheriv,
	createHmac,
	createSecretKey,
	hkdfSync,
	type KeyObject,
	timingSafeEqual,
} from "node:crypto";

const CIPHER = "aes-256-ctr";
const KEY_BYTES = 32;
const TAG_BYTES = 6;
const MAC_BYTES = 16;
/** What is sealed is filled up to a multiple of this: its length tells nothing of the numbers in it. */
const BLOCK = 64;
const FILLER = 0x20;
const FORM = /^[A-Za-z0-9_-]+$/;

/**
 * Encrypts what a cursor holds, so that positions in the store's logs tell nobody how much others write there.
 *
 * The authentication code over the text is also its initialisation vector (as in SIV modes): equal texts give equal
 * cursors, and no number of cursors under one key makes it unsafe. A key of cursors is never changed, so that matters.
 */
export class CursorSeal {
	/** Begins every cursor of this store. It tells which store made one and nothing else. */
	readonly tag: string;
	readonly #encryption: KeyObject;
	readonly #authentication: KeyObject;

	constructor(secretHex: string) {
		const derive = (purpose: string, bytes: number): Buffer =>
			Buffer.from(hkdfSync("sha256", Buffer.from(secretHex, "hex"), "", `flowfabric cursors: ${purpose}`, bytes));
		this.tag = derive("tag", TAG_BYTES).toString("base64url");
		this.#encryption = createSecretKey(derive("encryption", KEY_BYTES));
		this.#authentication = createSecretKey(derive("authentication", KEY_BYTES));
	}

	/** `list` names what the cursor points into: it opens for nothing else. Blanks at the end of `content` are not kept. */
	seal(list: string, content: Buffer): string {
		const text = Buffer.alloc(Math.ceil(content.length / BLOCK) * BLOCK, FILLER);
		content.copy(text);
		const mac = this.#mac(list, text);
		const cipher = createCipheriv(CIPHER, this.#encryption, mac);
		return this.tag + Buffer.concat([mac, cipher.update(text)]).toString("base64url");
	}

	/** What was sealed, with blanks behind it; undefined for whatever this key did not seal for this list. */
	open(list: string, cursor: string): Buffer | undefined {
		if (!isSealed(cursor) || !cursor.startsWith(this.tag)) return undefined;
		const sealed = Buffer.from(cursor.slice(this.tag.length), "base64url");
		const mac = sealed.subarray(0, MAC_BYTES);
		const text = createDecipheriv(CIPHER, this.#encryption, mac).update(sealed.subarray(MAC_BYTES));
		return timingSafeEqual(this.#mac(list, text), mac) ? text : undefined;
	}

	/** A name ends at a zero byte, which no name holds. */
	#mac(list: string, text: Buffer): Buffer {
		const whole = createHmac("sha256", this.#authentication).update(`${list}\0`).update(text).digest();
		return whole.subarray(0, MAC_BYTES);
	}
}

/** Whether a text has the form of a cursor, of this store or of another. */
export function isSealed(cursor: string): boolean {
	const tagLength = (TAG_BYTES * 4) / 3;
	const bytes = Math.floor(((cursor.length - tagLength) * 3) / 4) - MAC_BYTES;
	return bytes >= BLOCK && bytes % BLOCK === 0 && FORM.test(cursor);
}
