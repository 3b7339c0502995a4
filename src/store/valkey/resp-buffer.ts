import { toText } from "./text.ts";

const DOLLAR = 36;
const RETURN = 13;
const NEWLINE = 10;
const ZERO = 48;
const FIRST_SIZE = 64 * 1024;
/** What a rare large call made it grow to is not kept. */
const LARGEST_KEPT = 1024 * 1024;
/** The runtime copies text faster than a loop does, but takes as long to be called as a loop for this many. */
const COPIED_BY_HAND = 20;
/** Room for the length in front of a value and the line end behind it. */
const AROUND = 24;

/**
 * Bytes in the making, as the protocol of the server wants them. A batch becomes thousands of small pieces: written in
 * place they cost a third of what joining them as text and encoding that would.
 */
export class RespBuffer {
	#bytes = Buffer.allocUnsafe(FIRST_SIZE);
	length = 0;
	/** Where the latest value begins. */
	#valueAt = 0;

	clear(): this {
		if (this.#bytes.length > LARGEST_KEPT) this.#bytes = Buffer.allocUnsafe(FIRST_SIZE);
		this.length = 0;
		return this;
	}

	/** All that was written, for good and without a copy: what comes next is written behind it. */
	take(): Buffer {
		const taken = this.#bytes.subarray(0, this.length);
		const left = this.#bytes.length - this.length;
		this.#bytes = left < FIRST_SIZE ? Buffer.allocUnsafeSlow(LARGEST_KEPT) : this.#bytes.subarray(this.length);
		this.length = 0;
		return taken;
	}

	byte(value: number): void {
		this.#room(1);
		this.#bytes[this.length++] = value;
	}

	/** A whole number from 0 on in decimal digits, zeros in front of it up to `width`. */
	digits(value: number, width = 1): void {
		this.#room(AROUND);
		this.length = writeDigits(this.#bytes, this.length, value, width);
	}

	/** Text as it is; false, and nothing, when not all of it is ASCII. */
	ascii(text: string): boolean {
		const { length } = text;
		this.#room(length * 3);
		if (length > COPIED_BY_HAND) {
			// Text has as many bytes as characters only if it is ASCII.
			if (this.#bytes.write(text, this.length) !== length) return false;
		} else {
			const bytes = this.#bytes;
			const start = this.length;
			for (let n = 0; n < length; n++) {
				const code = text.charCodeAt(n);
				if (code > 127) return false;
				bytes[start + n] = code;
			}
		}
		this.length += length;
		return true;
	}

	/** What another one holds, as it is. */
	append(other: RespBuffer): void {
		this.#room(other.length);
		other.#bytes.copy(this.#bytes, this.length, 0, other.length);
		this.length += other.length;
	}

	/** What another one holds, as one value. */
	bulk(other: RespBuffer): void {
		this.#open(other.length);
		this.append(other);
		this.#end();
	}

	bulkBytes(bytes: Uint8Array): void {
		this.#open(bytes.byteLength);
		this.#room(bytes.byteLength + AROUND);
		this.#bytes.set(bytes, this.length);
		this.length += bytes.byteLength;
		this.#end();
	}

	/** A text as one value; says whether all of it is ASCII. */
	bulkText(text: string): boolean {
		return this.bulkName(NO_BYTES, text);
	}

	/** All names behind one beginning, then all of them behind another that is as long. */
	bulkNames([first, second]: readonly [Uint8Array, Uint8Array], names: Iterable<string>): void {
		const start = this.length;
		const places: number[] = [];
		for (const name of names) {
			this.bulkName(first, name);
			places.push(this.#valueAt);
		}
		const size = this.length - start;
		this.#room(size);
		const bytes = this.#bytes;
		bytes.copyWithin(this.length, start, this.length);
		for (const place of places) {
			const at = place + size;
			for (let n = 0; n < second.length; n++) bytes[at + n] = second[n] as number;
		}
		this.length += size;
	}

	/** A name behind what all names of its kind begin with, as one value; says whether it is ASCII. */
	bulkName(prefix: Uint8Array, name: string): boolean {
		const start = this.length;
		const size = prefix.length + name.length;
		// Taken to be ASCII, which nearly all of it is.
		this.#open(size);
		this.#room(size + AROUND);
		const bytes = this.#bytes;
		let at = this.length;
		for (let n = 0; n < prefix.length; n++) bytes[at++] = prefix[n] as number;
		this.length = at;
		const isAscii = this.ascii(name);
		if (isAscii) this.#end();
		else {
			this.length = start;
			this.bulkBytes(Buffer.concat([prefix, Buffer.from(toText(name))]));
		}
		return isAscii;
	}

	#open(size: number): void {
		this.#room(AROUND);
		const bytes = this.#bytes;
		bytes[this.length] = DOLLAR;
		this.length = writeDigits(bytes, this.length + 1, size, 1);
		this.#end();
		this.#valueAt = this.length;
	}

	#end(): void {
		const bytes = this.#bytes;
		bytes[this.length++] = RETURN;
		bytes[this.length++] = NEWLINE;
	}

	#room(more: number): void {
		const needed = this.length + more + AROUND;
		if (needed <= this.#bytes.length) return;
		const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length));
		this.#bytes.copy(larger, 0, 0, this.length);
		this.#bytes = larger;
	}
}

const NO_BYTES = new Uint8Array(0);

/** Writes from the last digit to the first; gives the place behind them. */
function writeDigits(bytes: Uint8Array, start: number, value: number, width: number): number {
	let digits = 1;
	for (let limit = 10; value >= limit; limit *= 10) digits += 1;
	const end = start + Math.max(digits, width);
	let rest = value;
	for (let at = end - 1; at >= start; at--) {
		const tenth = Math.floor(rest / 10);
		bytes[at] = ZERO + rest - tenth * 10;
		rest = tenth;
	}
	return end;
}
