import { describe, expect, it } from "vitest";
import { decode, encode } from "../../src/kernel/record-types.ts";
import { emptyLog, makeStream, type StreamRecord, streamKey } from "../../src/kernel/records/stream.ts";
import { addChunk, trim } from "../../src/kernel/streams/keeping.ts";

const key = streamKey(`ex_${"0".repeat(32)}_7`, 0);
const MOST = 10_000;

/** As so many appends of one frame each leave it. */
function appended(count: number): StreamRecord {
	let durable = emptyLog;
	for (let n = 0; n < count; n++)
		durable = trim(addChunk(durable, { from: n, to: n, frames: 1, until: 0 }, MOST), MOST, 0).log;
	return makeStream({ next: count, lastId: `${count - 1}-0`, durable });
}

describe("the document of a stream", () => {
	it("leads back to the stream", () => {
		const bestEffort = addChunk(emptyLog, { from: 3, to: 3, frames: 2, until: 99 }, 64);
		for (const stream of [makeStream({}), appended(1), appended(1000), { ...appended(5), bestEffort }])
			expect(decode(key, encode(key, stream))).toEqual(stream);
	});

	it("stays small, however much was appended, since every append writes it", () => {
		expect(encode(key, appended(MOST)).length).toBeLessThan(1024);
		expect(encode(key, appended(10 * MOST)).length).toBeLessThan(1024);
	});

	it("keeps what a later version put into it", () => {
		const stored = { ...JSON.parse(encode(key, appended(3))), later: 1 };
		stored.durable.later = 2;
		expect(JSON.parse(encode(key, decode(key, JSON.stringify(stored))))).toEqual(stored);
	});
});
