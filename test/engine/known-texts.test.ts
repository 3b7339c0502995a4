import { expect, it } from "vitest";
import { KnownTexts } from "../../src/engine/known-texts.ts";

it("what is known of texts is forgotten when they are too many, or too long together", () => {
	const few = new KnownTexts<number>(3, 100);
	for (let n = 0; n < 3; n++) few.set(`t${n}`, n);
	expect([few.get("t0"), few.size]).toEqual([0, 3]);
	few.set("t3", 3);
	expect([few.get("t0"), few.get("t3"), few.size]).toEqual([undefined, 3, 1]);

	const short = new KnownTexts<number>(1000, 100);
	for (let n = 0; n < 50; n++) {
		short.set(String(n).padStart(30, "."), n);
		expect(short.size).toBeLessThanOrEqual(3);
	}
});
