import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type IdPrefix, makeId, SLOTS, slotOf, slotOfId, trustedSlot, uuidWithin } from "../../src/kernel/ids.ts";

const hex = fc.stringMatching(/^[0-9a-f]{32}$/);
const prefixes: IdPrefix[] = ["ex", "fl", "wp", "gr", "sg", "su", "ed", "le"];

/** Bit by bit, as CRC16-XMODEM is defined: polynomial 0x1021, start 0, nothing reflected. */
function crc16(text: string): number {
	let crc = 0;
	for (const byte of Buffer.from(text)) {
		crc ^= byte << 8;
		for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
	}
	return crc;
}

describe("slots", () => {
	it("are CRC16-XMODEM mod 16384", () => {
		expect(crc16("123456789")).toBe(0x31c3);
		expect(slotOf("123456789")).toBe(0x31c3 % 16384);
		expect(slotOf("")).toBe(0);
	});

	it("are those a Valkey cluster gives the same key", () => {
		// From CLUSTER KEYSLOT.
		expect(slotOf("foo")).toBe(12182);
		expect(slotOf("somekey")).toBe(11058);
		expect(slotOf("user1000")).toBe(3443);
	});

	it("hash the UTF-8 bytes of any text", () => {
		fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => slotOf(text) === crc16(text) % SLOTS));
		expect(slotOf("naïve 🦊")).toBe(crc16("naïve 🦊") % SLOTS);
	});

	it("can be chosen with the last digits of a uuid", () => {
		const start = fc.stringMatching(/^[0-9a-f]{29}$/);
		fc.assert(
			fc.property(start, fc.integer({ min: 1, max: 256 }), fc.nat(), fc.nat(), (begin, partitions, which, random) => {
				const partition = which % partitions;
				const uuid = uuidWithin(begin, partition, partitions, random);
				expect(uuid).toMatch(new RegExp(`^${begin}[0-9a-f]{3}$`));
				expect(slotOf(uuid) % partitions).toBe(partition);
			}),
		);
	});

	it("spread ids over all partitions", () => {
		const counts = new Array<number>(8).fill(0);
		for (let n = 0; n < 8000; n++) {
			const partition = slotOf(n.toString(16).padStart(32, "0")) % 8;
			counts[partition] = (counts[partition] ?? 0) + 1;
		}
		for (const count of counts) expect(count).toBeGreaterThan(700);
	});
});

describe("ids", () => {
	it("carry their slot", () => {
		fc.assert(
			fc.property(fc.constantFrom(...prefixes), hex, fc.nat(SLOTS - 1), (prefix, uuid, slot) => {
				const id = makeId(prefix, uuid, slot);
				expect(id).toBe(`${prefix}_${uuid}_${slot}`);
				expect(slotOfId(prefix, id)).toBe(slot);
				expect(trustedSlot(id)).toBe(slot);
			}),
		);
	});

	it("take slots 0 and 16383, and none beyond", () => {
		const uuid = "0".repeat(32);
		expect(slotOfId("ex", `ex_${uuid}_0`)).toBe(0);
		expect(slotOfId("ex", `ex_${uuid}_16383`)).toBe(16383);
		for (const slot of ["16384", "99999", "100000", "-1"]) expect(slotOfId("ex", `ex_${uuid}_${slot}`)).toBeUndefined();
	});

	it("are refused under another prefix", () => {
		const id = makeId("le", "0".repeat(32), 1);
		for (const prefix of prefixes) expect(slotOfId(prefix, id)).toBe(prefix === "le" ? 1 : undefined);
	});

	it("are refused in any form but the one they are made in", () => {
		const uuid = "0123456789abcdef".repeat(2);
		const malformed = [
			"",
			"ex",
			`ex_${uuid}`,
			`ex_${uuid}_`,
			`ex_${uuid}_00`,
			`ex_${uuid}_01`,
			`ex_${uuid}_1 `,
			`ex_${uuid}_1\n`,
			` ex_${uuid}_1`,
			`ex_${uuid}_1e3`,
			`ex_${uuid}_0x1`,
			`ex_${uuid}_1_1`,
			`ex-${uuid}-1`,
			`ex_${uuid.slice(1)}_1`,
			`ex_${uuid}0_1`,
			`ex_${uuid.toUpperCase()}_1`,
			`EX_${uuid}_1`,
			`x_${uuid}_1`,
			`ex_${uuid}_١`,
		];
		for (const id of malformed) expect(slotOfId("ex", id)).toBeUndefined();
	});

	it("of any other text are refused", () => {
		fc.assert(fc.property(fc.string(), (text) => slotOfId("ex", text) === undefined));
	});
});
