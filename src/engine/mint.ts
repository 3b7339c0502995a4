import { randomFillSync } from "node:crypto";
import { uuidWithin } from "../kernel/ids.ts";

const POOL = 4096;
const pool = new Uint8Array(POOL);
let used = POOL;

/** Random bytes, drawn many at a time: one call per id would cost more than the id. */
function randomHex(bytes: number): string {
	if (used + bytes > POOL) {
		randomFillSync(pool);
		used = 0;
	}
	let hex = "";
	for (let n = 0; n < bytes; n++) hex += hexOf[pool[used + n] ?? 0];
	used += bytes;
	return hex;
}

const hexOf = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

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
