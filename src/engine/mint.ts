import { randomBytes } from "node:crypto";
import { uuidWithin } from "../kernel/ids.ts";

const POOL = 4096;
let pool = "";
let used = 0;

/** Random bytes in hex digits, drawn many at a time: one call per id would cost more than the id. */
function randomHex(bytes: number): string {
	if (used + 2 * bytes > pool.length) {
		pool = randomBytes(POOL).toString("hex");
		used = 0;
	}
	const hex = pool.slice(used, used + 2 * bytes);
	used += 2 * bytes;
	return hex;
}

const VARIANT = "89ab";

/** Uuids of version 7 as 32 hex digits, ascending within this process even inside one millisecond. */
export class UuidMint {
	readonly #now: () => number;
	readonly #random: (bytes: number) => string;
	#last = 0;
	#lastHex = "";
	#count = 0;

	constructor(now: () => number, random: (bytes: number) => string = randomHex) {
		this.#now = now;
		this.#random = random;
	}

	next(): string {
		const now = this.#now();
		if (now > this.#last) this.#begin(now);
		else if (++this.#count > 0xfff) this.#begin(this.#last + 1);
		const count = this.#count.toString(16).padStart(3, "0");
		const tail = this.#random(8);
		return `${this.#lastHex}7${count}${VARIANT[Number.parseInt(tail.charAt(0), 16) & 0x3]}${tail.slice(1)}`;
	}

	/** One whose slot lies in a partition, so that what belongs together can be put together. */
	nextIn(partition: number, partitions: number): string {
		const uuid = this.next();
		if (partitions === 1) return uuid;
		return uuidWithin(uuid.slice(0, -3), partition, partitions, Number.parseInt(uuid.slice(-3), 16));
	}

	#begin(time: number): void {
		this.#last = time;
		this.#lastHex = time.toString(16).padStart(12, "0");
		this.#count = 0;
	}
}
