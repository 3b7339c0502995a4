/**
 * Ids say where their subject lives: `<prefix>_<uuidv7 as 32 hex>_<slot>`. The slot is chosen once, when the id is
 * minted, and only decoded afterwards, so a store can change its partition count between stores without renaming work.
 */

export const SLOTS = 16384;

export type IdPrefix = "ex" | "fl" | "wp" | "gr" | "sg" | "su" | "ed" | "le";

const crcTable = buildCrcTable();

function buildCrcTable(): Uint16Array {
	const table = new Uint16Array(256);
	for (let byte = 0; byte < 256; byte++) {
		let crc = byte << 8;
		for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
		table[byte] = crc & 0xffff;
	}
	return table;
}

const utf8 = new TextEncoder();

const addToCrc = (crc: number, byte: number): number =>
	((crc << 8) ^ (crcTable[((crc >> 8) ^ byte) & 0xff] ?? 0)) & 0xffff;

/** CRC16-XMODEM mod 16384: the hash a Valkey cluster uses, so a slot means the same thing everywhere. */
export const slotOf = (text: string): number => crc16(text) % SLOTS;

function crc16(text: string): number {
	let crc = 0;
	for (let n = 0; n < text.length; n++) {
		const unit = text.charCodeAt(n);
		// Almost every text is ASCII, and then its characters are its bytes.
		if (unit > 0x7f) return utf8.encode(text).reduce(addToCrc, 0);
		crc = addToCrc(crc, unit);
	}
	return crc;
}

const ENDINGS = Array.from({ length: 0x1000 }, (_, n) => n.toString(16).padStart(3, "0"));
const crcOfEnding = Uint16Array.from(ENDINGS, crc16);

/**
 * Completes 29 hex digits to a uuid whose slot lies in a partition. A CRC is linear: that of the whole is that of the
 * start, moved on by three bytes, xor that of the ending; so trying an ending costs next to nothing.
 */
export function uuidWithin(start: string, partition: number, partitions: number, random: number): string {
	const moved = addToCrc(addToCrc(addToCrc(crc16(start), 0), 0), 0);
	let ending = random & 0xfff;
	for (let tries = 0; tries < ENDINGS.length; tries++) {
		if ((((moved ^ (crcOfEnding[ending] ?? 0)) & 0xffff) % SLOTS) % partitions === partition) break;
		ending = (ending + 1) & 0xfff;
	}
	return start + ENDINGS[ending];
}

export function makeId(prefix: IdPrefix, uuid: string, slot: number): string {
	return `${prefix}_${uuid}_${slot}`;
}

const idForm = /^[a-z]{2}_[0-9a-f]{32}_(?:0|[1-9][0-9]{0,4})$/;
const SLOT_AT = "ex_".length + 32 + "_".length;

/** The slot inside an id, or undefined when the id is malformed. */
export function slotOfId(prefix: IdPrefix, id: string): number | undefined {
	// Tested as a whole and then cut: taking it apart by groups costs twice as much.
	if (!id.startsWith(prefix) || !idForm.test(id)) return undefined;
	const slot = Number(id.slice(SLOT_AT));
	return slot < SLOTS ? slot : undefined;
}

/** When an id was minted: a uuid of version 7 begins with the milliseconds. */
export function timeOfId(id: string): number {
	return Number.parseInt(id.slice(id.indexOf("_") + 1).slice(0, 12), 16);
}

/** The slot inside an id that the kernel itself minted or has already parsed. */
export function trustedSlot(id: string): number {
	return Number(id.slice(id.lastIndexOf("_") + 1));
}
